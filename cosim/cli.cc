#include "cosim/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <new>

#include "cosim/calibrate.h"
#include "cosim/compile_command.h"
#include "cosim/config.h"
#include "cosim/graph_command.h"
#include "cosim/graph_workload.h"
#include "cosim/memory_command.h"
#include "cosim/opt_command.h"
#include "cosim/replay_command.h"
#include "cosim/run_command.h"
#include "cosim/rvtest_command.h"
#include "cosim/tools.h"
#include "model/contract/error.h"
#include "model/contract/nearest.h"
#include "traces/cli.h"
#include "traces/trace_file.h"

namespace spyre::cosim {
namespace {

enum ExitStatus { kDone = 0, kWrong = 1, kBadInputStatus = 2, kFaultStatus = 3, kBugStatus = 4 };

constexpr const char* kExitText =
    "Exit status: 0 done and verified; 1 verification failed; 2 bad input; 3 device fault, hang or "
    "lost device; 4 an error in this program.";

CLI::Option* AddSets(CLI::App* command, std::vector<std::string>& sets) {
  // One value per --set, so that a configuration file may follow it.
  return command
      ->add_option("--set", sets, "override one key, as in --set card.cores=8; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("KEY=VALUE");
}

void AddBundleOptions(CLI::App* command, BundleArguments& bundle) {
  command
      ->add_option("--shape", bundle.shapes,
                   "of a bundle: host shape of every argument in order, 512x4096 or "
                   "512x4096:float32")
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("SHAPE,...");
}

class CommandLine {
 public:
  CommandLine() {
    app_.footer(kExitText);
    app_.require_subcommand(1);
    AddRun();
    AddReplay();
    AddCompile();
    AddCalibrate();
    AddMemory();
    AddOpt();
    AddGraph();
    AddCheck();
    AddRegs();
    AddPrograms();
    AddRvtest();
    AddTrace();
  }

  int Run(int argc, char** argv) {
    program_ = argc > 0 ? argv[0] : "spyre-cosim";
    RequireKnownCommand(argc, argv);
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      const int status = app_.exit(error);
      return status == 0 ? kDone : kBadInputStatus;
    }
    const int status = action_();
    if (!std::cout.flush()) throw BadInput("standard output: cannot write all of the result");
    return status;
  }

 private:
  // CLI11 alone would only say that a command is missing.
  void RequireKnownCommand(int argc, char** argv) const {
    if (argc < 2 || argv[1][0] == '-') return;
    std::vector<std::string> names;
    for (const CLI::App* command : app_.get_subcommands(nullptr))
      names.push_back(command->get_name());
    if (std::find(names.begin(), names.end(), argv[1]) == names.end()) {
      throw BadInput("'{}' is not a command{}; --help lists them", argv[1],
                     DidYouMean(argv[1], names));
    }
  }

  void AddRun() {
    CLI::App* run = app_.add_subcommand("run", "Run a configuration or a bundle on the card");
    run->footer(kExitText);
    run->add_option("CONFIG", run_.config,
                    "TOML file (docs/configuration.md lists the keys), list of operations in JSON "
                    "(docs/compiler.md), directory of an SDSC bundle or OpSpec source "
                    "(docs/bundles.md)")
        ->required();
    AddSets(run, run_.sets);
    AddBundleOptions(run, run_.bundle);
    run->add_option("--args", run_.bundle.args,
                    "of a bundle: .npy file of every input in order, \"\" or none: generated")
        ->delimiter(',')
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_name("FILE,...");
    run->add_option("--dim", run_.bundle.dims, "of a bundle: value of a symbolic dimension")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_name("NAME=N");
    run->add_option("--out", run_.out,
                    "directory for report.json, the trace and tensors (out/ and the file's name)");
    run->add_option("--record", run_.record,
                    "write what the host does to the card, for replay (docs/replay.md)")
        ->type_name("FILE");
    run->add_flag("--json", run_.json, "print report.json, nothing else, on standard output");
    run->add_flag("--no-progress", run_.no_progress, "no progress bar");
    run->add_option("--gdb", run_.gdb_port,
                    "wait on this port of 127.0.0.1 for GDB, which debugs the firmware on the "
                    "management controller (docs/debugging.md); 0: any free port")
        ->type_name("PORT");
    run->callback([this] {
      action_ = [this] { return static_cast<int>(RunCommand(run_, program_) ? kDone : kWrong); };
    });
  }

  void AddReplay() {
    CLI::App* command = app_.add_subcommand(
        "replay", "Repeat a recorded run on another card, without its application");
    command->footer(
        "Exit status: 0 equal; 1 the first divergence is printed; 2 bad input; 3 device fault, "
        "hang "
        "or lost device.\nWhat is compared is in docs/replay.md.");
    AddReplayOptions(*command, replay_);
    AddSets(command, replay_.sets);
    command->callback(
        [this] { action_ = [this] { return RunReplayCommand(replay_, std::cout); }; });
  }

  void AddCompile() {
    CLI::App* compile =
        app_.add_subcommand("compile", "Compile a bundle, OpSpec source or a list of operations");
    compile->footer("Exit status: 0 done; 2 bad input. docs/bundles.md has examples.");
    compile
        ->add_option("INPUT", compile_.input,
                     "directory of an SDSC bundle, OpSpec source (.py, .txt), a configuration of a "
                     "bundle or of a list of operations, or such a list in JSON")
        ->required();
    CLI::Option* output =
        compile->add_option("-o,--output", compile_.output, "SpyreCode directory to write");
    compile
        ->add_option(
            "--emit", emit_,
            "of a list of operations: print what one pass left, and write nothing: sticks, "
            "groups, graph, division, lx, loops, opspec or bundle")
        ->type_name("STAGE")
        ->excludes(output);
    compile->add_option("--bundle", compile_.bundle,
                        "also write the SDSC bundle to this directory");
    compile
        ->add_option("--dialect", compile_.dialect,
                     "of that bundle: constants, baked or arguments (symbolic arguments)")
        ->type_name("NAME");
    AddSets(compile, compile_sets_);
    AddBundleOptions(compile, compile_shapes_);
    compile->callback([this] {
      action_ = [this] {
        const RunConfig config = ConfigOf(compile_.input, compile_sets_, compile_shapes_);
        if (!emit_.empty()) {
          std::cout << EmitStage(config, emit_);
          return static_cast<int>(kDone);
        }
        if (compile_.output.empty())
          throw BadInput("compile: --output DIR or --emit STAGE is needed");
        std::cout << CompileBundle(config, compile_);
        return static_cast<int>(kDone);
      };
    });
  }

  void AddCalibrate() {
    CLI::App* command = app_.add_subcommand(
        "calibrate", "Compare kernel times of the modelled card with calibration points");
    command->footer(
        "Exit status: 0 every point ran; 1 a point failed; 2 bad input.\nThe format of a FILE and "
        "the tables are in docs/accuracy.md.");
    command->add_option("FILE", calibrate_.files, "JSON files of calibration points")->required();
    command->add_option("--card", calibrate_.card, "card preset or TOML file, as card.preset");
    AddSets(command, calibrate_.sets);
    command->add_option("--family", calibrate_.family,
                        "only unary, binary, reduction, softmax, matmul or matmul-CORES");
    command->add_option("--every", calibrate_.every, "only the first of every N points")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000));
    command->add_option("--jobs", calibrate_.jobs, "points at a time; 0: one a hardware thread")
        ->type_name("N")
        ->check(CLI::Range(0, 1024));
    using Format = CalibrateOptions::Format;
    CLI::Option* json = command->add_flag_callback(
        "--json", [this] { calibrate_.format = Format::kJson; }, "as JSON, with every point");
    command
        ->add_flag_callback(
            "--markdown", [this] { calibrate_.format = Format::kMarkdown; },
            "the tables of docs/accuracy.md")
        ->excludes(json);
    command->callback([this] {
      action_ = [this] {
        bool all_ran = false;
        std::cout << Calibrate(calibrate_, &all_ran);
        return static_cast<int>(all_ran ? kDone : kWrong);
      };
    });
  }

  void AddMemory() {
    CLI::App* command = app_.add_subcommand(
        "memory", "What memory gives by itself, under a trace or a pattern of requests");
    command->footer("Exit status: 0 done; 2 bad input. Examples are in docs/memory.md.");
    AddMemoryOptions(*command, memory_);
    AddSets(command, memory_.sets);
    command->callback(
        [this] { action_ = [this] { return RunMemoryCommand(memory_, std::cout); }; });
  }

  void AddOpt() {
    CLI::App* command = app_.add_subcommand(
        "opt", "One compiler pass over JSON lines: an object in, an object out");
    command->footer(OptPassList() +
                    "Exit status: 0 done, also if lines were refused; 2 bad input.\n"
                    "The keys of each pass are in docs/compiler.md.");
    command->add_option("PASS", opt_.pass, "name of a pass")->required();
    command->add_option("FILE", opt_.file, "JSON lines; -: standard input")->capture_default_str();
    command->callback([this] {
      action_ = [this] {
        std::ios::sync_with_stdio(false);  // reads by the block; nothing has been read yet
        std::cin.tie(nullptr);
        return RunOptCommand(opt_, std::cin, std::cout);
      };
    });
  }

  void AddGraph() {
    CLI::App* command = app_.add_subcommand(
        "graph", "A task graph from text commands: who waits for whom, and a schedule");
    command->footer(
        "Exit status: 0 done; 2 bad input, with the number of the line.\n"
        "The commands are in docs/task-graph.md.");
    command->add_option("FILE", graph_.file, "commands, one a line; -: standard input")
        ->capture_default_str();
    command->add_option("--conformance", graph_.conformance, "strict or safe")
        ->capture_default_str();
    command->add_option("--deps", graph_.deps, "exact, bytes, explicit, hybrid or hybrid_bytes")
        ->capture_default_str();
    command->add_option("--ready", graph_.ready, "fifo, work_steal or priority")
        ->capture_default_str();
    command->add_option("--deques", graph_.workers, "of work_steal: workers of each pool")
        ->capture_default_str();
    command->add_option("--trace", graph_.trace, "write the last simulation as a Chrome trace")
        ->type_name("FILE");
    command->callback([this] {
      action_ = [this] {
        std::ios::sync_with_stdio(false);
        std::cin.tie(nullptr);
        return RunGraphCommand(graph_, std::cin, std::cout, std::cerr);
      };
    });
  }

  void AddCheck() {
    CLI::App* check = app_.add_subcommand("check", "Print the effective configuration of a file");
    check->add_option("CONFIG", check_.config, "TOML file; without it, the defaults");
    AddSets(check, check_.sets);
    check->add_flag("--json", check_.json, "as JSON");
    check->add_flag("--reference", reference_, "print docs/configuration.md instead");
    check->callback([this] {
      action_ = [this] {
        if (reference_) {
          std::cout << ConfigReference();
        } else {
          const RunConfig config = LoadConfig(check_.config, check_.sets);
          std::cout << (check_.json ? ToJson(config) + "\n" : ToToml(config));
        }
        return static_cast<int>(kDone);
      };
    });
  }

  void AddRegs() {
    CLI::App* regs = app_.add_subcommand("regs", "Print the registers of the card");
    CLI::Option* markdown = regs->add_flag("--markdown", markdown_, "as a Markdown table");
    regs->add_flag("--json", regs_json_, "as JSON")->excludes(markdown);
    regs->callback([this] {
      action_ = [this] {
        std::cout << (regs_json_  ? RegistersJson()
                      : markdown_ ? RegistersMarkdown()
                                  : RegistersText());
        return static_cast<int>(kDone);
      };
    });
  }

  void AddPrograms() {
    CLI::App* disasm = app_.add_subcommand("disasm", "Print the text of a program");
    disasm->add_option("PATH", path_, "program binary or SpyreCode directory")->required();
    disasm->callback([this] {
      action_ = [this] {
        std::cout << DisassemblePath(path_);
        return static_cast<int>(kDone);
      };
    });
    CLI::App* assemble = app_.add_subcommand("asm", "Assemble a program");
    assemble->add_option("FILE", path_, "text, as disasm prints it")->required();
    assemble->add_option("-o,--output", output_, "program binary to write")->required();
    assemble->callback([this] {
      action_ = [this] {
        AssembleFile(path_, output_);
        return static_cast<int>(kDone);
      };
    });
  }

  void AddRvtest() {
    CLI::App* command = app_.add_subcommand(
        "rvtest", "Run RISC-V test programs on the management controller alone");
    command->footer(
        "A program ends by a write to its symbol tohost: 1 passes, 2n+1 fails test n.\n"
        "Exit status: 0 all passed; 1 some failed; 2 bad input or no tohost; 3 no executable for "
        "the "
        "controller.");
    command->add_option("ELF", rvtest_.files, "32-bit RISC-V executables, SRAM at 0x80000000")
        ->required();
    command->add_option("--max-cycles", rvtest_.max_cycles, "cycles that one program may take")
        ->capture_default_str()
        ->check(CLI::Range(uint64_t{1}, UINT64_MAX));
    command->add_flag("--json", rvtest_.json, "as JSON");
    command->callback(
        [this] { action_ = [this] { return RunRvtestCommand(rvtest_, std::cout); }; });
  }

  void AddTrace() {
    CLI::App* trace =
        app_.add_subcommand("trace", "Look into a trace: summary, query, diff, export, report");
    trace->prefix_command();
    trace->set_help_flag();  // --help goes to the trace commands
    trace->callback([this, trace] {
      action_ = [trace] {
        return trace::RunTraceCommand(trace->remaining(), std::cout, std::cerr);
      };
    });
  }

  CLI::App app_{"Co-simulation of the Spyre accelerator card", "spyre-cosim"};
  std::function<int()> action_;
  RunArguments run_, check_;
  ReplayArguments replay_;
  CompileOptions compile_;
  std::string emit_;
  std::vector<std::string> compile_sets_;
  BundleArguments compile_shapes_;
  MemoryOptions memory_;
  OptOptions opt_;
  GraphCommandOptions graph_;
  RvtestOptions rvtest_;
  CalibrateOptions calibrate_;
  bool reference_ = false, markdown_ = false, regs_json_ = false;
  std::string program_, path_, output_;
};

int Fail(ExitStatus status, const char* kind, const std::string& what) {
  std::cerr << "spyre-cosim: " << kind << what << std::endl;
  return status;
}

}  // namespace

int RunCommandLine(int argc, char** argv) {
  try {
    return CommandLine().Run(argc, argv);
  } catch (const Error& error) {
    switch (error.kind()) {
      case ErrorKind::kBadInput:
        return Fail(kBadInputStatus, "", error.what());
      case ErrorKind::kDeviceFault:
        return Fail(kFaultStatus, "device fault: ", error.what());
      case ErrorKind::kInternal:
        break;
    }
    return Fail(kBugStatus, "internal error: ", error.what());
  } catch (const trace::Error& error) {
    return Fail(kBadInputStatus, "", error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return Fail(kBadInputStatus, "", error.what());
  } catch (const std::bad_alloc&) {
    return Fail(kBadInputStatus, "",
                "not enough host memory; use smaller tensors or workload.functional = false");
  } catch (const std::exception& error) {
    return Fail(kBugStatus, "internal error: ", error.what());
  }
}

}  // namespace spyre::cosim
