module {
	func.func @sdsc_bundle(%arg_0_base_addr: !sdscbundle.input_arg<index>, %arg_1_base_addr: !sdscbundle.input_arg<index>) {
		%arg_0 = sdscbundle.input_arg_extract value from %arg_0_base_addr : !sdscbundle.input_arg<index> -> index
		%arg_1 = sdscbundle.input_arg_extract value from %arg_1_base_addr : !sdscbundle.input_arg<index> -> index
		%arg_0_core_offset_3328 = arith.constant 3328 : index
		%arg_0_core_3328 = arith.addi %arg_0, %arg_0_core_offset_3328 : index
		%arg_0_core_offset_6656 = arith.constant 6656 : index
		%arg_0_core_6656 = arith.addi %arg_0, %arg_0_core_offset_6656 : index
		%arg_0_core_offset_9984 = arith.constant 9984 : index
		%arg_0_core_9984 = arith.addi %arg_0, %arg_0_core_offset_9984 : index
		%arg_0_core_offset_13312 = arith.constant 13312 : index
		%arg_0_core_13312 = arith.addi %arg_0, %arg_0_core_offset_13312 : index
		%arg_0_core_offset_16640 = arith.constant 16640 : index
		%arg_0_core_16640 = arith.addi %arg_0, %arg_0_core_offset_16640 : index
		%arg_0_core_offset_19968 = arith.constant 19968 : index
		%arg_0_core_19968 = arith.addi %arg_0, %arg_0_core_offset_19968 : index
		%arg_0_core_offset_23296 = arith.constant 23296 : index
		%arg_0_core_23296 = arith.addi %arg_0, %arg_0_core_offset_23296 : index
		%arg_0_core_offset_128 = arith.constant 128 : index
		%arg_0_core_128 = arith.addi %arg_0, %arg_0_core_offset_128 : index
		%arg_0_core_offset_3456 = arith.constant 3456 : index
		%arg_0_core_3456 = arith.addi %arg_0, %arg_0_core_offset_3456 : index
		%arg_0_core_offset_6784 = arith.constant 6784 : index
		%arg_0_core_6784 = arith.addi %arg_0, %arg_0_core_offset_6784 : index
		%arg_0_core_offset_10112 = arith.constant 10112 : index
		%arg_0_core_10112 = arith.addi %arg_0, %arg_0_core_offset_10112 : index
		%arg_0_core_offset_13440 = arith.constant 13440 : index
		%arg_0_core_13440 = arith.addi %arg_0, %arg_0_core_offset_13440 : index
		%arg_0_core_offset_16768 = arith.constant 16768 : index
		%arg_0_core_16768 = arith.addi %arg_0, %arg_0_core_offset_16768 : index
		%arg_0_core_offset_20096 = arith.constant 20096 : index
		%arg_0_core_20096 = arith.addi %arg_0, %arg_0_core_offset_20096 : index
		%arg_0_core_offset_23424 = arith.constant 23424 : index
		%arg_0_core_23424 = arith.addi %arg_0, %arg_0_core_offset_23424 : index
		%arg_1_core_offset_16384 = arith.constant 16384 : index
		%arg_1_core_16384 = arith.addi %arg_1, %arg_1_core_offset_16384 : index
		%arg_1_core_offset_32768 = arith.constant 32768 : index
		%arg_1_core_32768 = arith.addi %arg_1, %arg_1_core_offset_32768 : index
		%arg_1_core_offset_49152 = arith.constant 49152 : index
		%arg_1_core_49152 = arith.addi %arg_1, %arg_1_core_offset_49152 : index
		%arg_1_core_offset_65536 = arith.constant 65536 : index
		%arg_1_core_65536 = arith.addi %arg_1, %arg_1_core_offset_65536 : index
		%arg_1_core_offset_81920 = arith.constant 81920 : index
		%arg_1_core_81920 = arith.addi %arg_1, %arg_1_core_offset_81920 : index
		%arg_1_core_offset_98304 = arith.constant 98304 : index
		%arg_1_core_98304 = arith.addi %arg_1, %arg_1_core_offset_98304 : index
		%arg_1_core_offset_114688 = arith.constant 114688 : index
		%arg_1_core_114688 = arith.addi %arg_1, %arg_1_core_offset_114688 : index
		%arg_1_core_offset_8192 = arith.constant 8192 : index
		%arg_1_core_8192 = arith.addi %arg_1, %arg_1_core_offset_8192 : index
		%arg_1_core_offset_24576 = arith.constant 24576 : index
		%arg_1_core_24576 = arith.addi %arg_1, %arg_1_core_offset_24576 : index
		%arg_1_core_offset_40960 = arith.constant 40960 : index
		%arg_1_core_40960 = arith.addi %arg_1, %arg_1_core_offset_40960 : index
		%arg_1_core_offset_57344 = arith.constant 57344 : index
		%arg_1_core_57344 = arith.addi %arg_1, %arg_1_core_offset_57344 : index
		%arg_1_core_offset_73728 = arith.constant 73728 : index
		%arg_1_core_73728 = arith.addi %arg_1, %arg_1_core_offset_73728 : index
		%arg_1_core_offset_90112 = arith.constant 90112 : index
		%arg_1_core_90112 = arith.addi %arg_1, %arg_1_core_offset_90112 : index
		%arg_1_core_offset_106496 = arith.constant 106496 : index
		%arg_1_core_106496 = arith.addi %arg_1, %arg_1_core_offset_106496 : index
		%arg_1_core_offset_122880 = arith.constant 122880 : index
		%arg_1_core_122880 = arith.addi %arg_1, %arg_1_core_offset_122880 : index
		sdscbundle.sdsc_execute (%arg_0, %arg_0_core_3328, %arg_0_core_6656, %arg_0_core_9984, %arg_0_core_13312, %arg_0_core_16640, %arg_0_core_19968, %arg_0_core_23296, %arg_0_core_128, %arg_0_core_3456, %arg_0_core_6784, %arg_0_core_10112, %arg_0_core_13440, %arg_0_core_16768, %arg_0_core_20096, %arg_0_core_23424, %arg_1, %arg_1_core_16384, %arg_1_core_32768, %arg_1_core_49152, %arg_1_core_65536, %arg_1_core_81920, %arg_1_core_98304, %arg_1_core_114688, %arg_1_core_8192, %arg_1_core_24576, %arg_1_core_40960, %arg_1_core_57344, %arg_1_core_73728, %arg_1_core_90112, %arg_1_core_106496, %arg_1_core_122880) {sdsc_filename="sdsc_0.json", "symbol_ids"=[-187, -188, -189, -190, -191, -192, -193, -194, -195, -196, -197, -198, -199, -200, -201, -202, -203, -204, -205, -206, -207, -208, -209, -210, -211, -212, -213, -214, -215, -216, -217, -218]}
		return
	}
}
