module {
	func.func @sdsc_bundle(%arg_0_base_addr: !sdscbundle.input_arg<index>, %arg_1_base_addr: !sdscbundle.input_arg<index>) {
		%arg_0 = sdscbundle.input_arg_extract value from %arg_0_base_addr : !sdscbundle.input_arg<index> -> index
		%arg_1 = sdscbundle.input_arg_extract value from %arg_1_base_addr : !sdscbundle.input_arg<index> -> index
		%arg_0_core_offset_384 = arith.constant 384 : index
		%arg_0_core_384 = arith.addi %arg_0, %arg_0_core_offset_384 : index
		%arg_0_core_offset_768 = arith.constant 768 : index
		%arg_0_core_768 = arith.addi %arg_0, %arg_0_core_offset_768 : index
		%arg_0_core_offset_1152 = arith.constant 1152 : index
		%arg_0_core_1152 = arith.addi %arg_0, %arg_0_core_offset_1152 : index
		%arg_0_core_offset_1536 = arith.constant 1536 : index
		%arg_0_core_1536 = arith.addi %arg_0, %arg_0_core_offset_1536 : index
		%arg_0_core_offset_1920 = arith.constant 1920 : index
		%arg_0_core_1920 = arith.addi %arg_0, %arg_0_core_offset_1920 : index
		%arg_0_core_offset_2304 = arith.constant 2304 : index
		%arg_0_core_2304 = arith.addi %arg_0, %arg_0_core_offset_2304 : index
		sdscbundle.sdsc_execute (%arg_0, %arg_0_core_384, %arg_0_core_768, %arg_0_core_1152, %arg_0_core_1536, %arg_0_core_1920, %arg_0_core_2304, %arg_1) {sdsc_filename="sdsc_0.json", "symbol_ids"=[-1, -2, -3, -4, -5, -6, -7, -8]}
		return
	}
}
