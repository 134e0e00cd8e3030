module {
	func.func @sdsc_bundle(%arg_0_base_addr: !sdscbundle.input_arg<index>, %arg_1_base_addr: !sdscbundle.input_arg<index>, %arg_2_base_addr: !sdscbundle.input_arg<index>, %arg_3_base_addr: !sdscbundle.input_arg<index>) {
		%pool = sdscbundle.device_mem_allocate 131072 bytes : index
		%arg_0 = sdscbundle.input_arg_extract value from %arg_0_base_addr : !sdscbundle.input_arg<index> -> index
		%arg_1 = sdscbundle.input_arg_extract value from %arg_1_base_addr : !sdscbundle.input_arg<index> -> index
		%arg_2 = sdscbundle.input_arg_extract value from %arg_2_base_addr : !sdscbundle.input_arg<index> -> index
		%arg_3 = sdscbundle.input_arg_extract value from %arg_3_base_addr : !sdscbundle.input_arg<index> -> index
		%pool_offset_65536 = arith.constant 65536 : index
		%pool_addr_65536 = arith.addi %pool, %pool_offset_65536 : index
		sdscbundle.sdsc_execute (%arg_0, %arg_3) {sdsc_filename="sdsc_0.json", "symbol_ids"=[-1, -2]}
		sdscbundle.sdsc_execute (%arg_3, %pool_addr_65536) {sdsc_filename="sdsc_1.json", "symbol_ids"=[-3, -4]}
		sdscbundle.sdsc_execute (%arg_1, %arg_2, %pool_addr_65536) {sdsc_filename="sdsc_2.json", "symbol_ids"=[-5, -6, -7]}
		sdscbundle.sdsc_execute (%pool_addr_65536, %arg_3) {sdsc_filename="sdsc_3.json", "symbol_ids"=[-8, -9]}
		return
	}
}
