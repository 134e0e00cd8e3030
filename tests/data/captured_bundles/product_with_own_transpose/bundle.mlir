module {
	func.func @sdsc_bundle(%arg_0_base_addr: !sdscbundle.input_arg<index>, %arg_1_base_addr: !sdscbundle.input_arg<index>) {
		%pool = sdscbundle.device_mem_allocate 16384 bytes : index
		%arg_0 = sdscbundle.input_arg_extract value from %arg_0_base_addr : !sdscbundle.input_arg<index> -> index
		%arg_1 = sdscbundle.input_arg_extract value from %arg_1_base_addr : !sdscbundle.input_arg<index> -> index
		%pool_offset_0 = arith.constant 0 : index
		%pool_addr_0 = arith.addi %pool, %pool_offset_0 : index
		%pool_offset_1024 = arith.constant 1024 : index
		%pool_addr_1024 = arith.addi %pool, %pool_offset_1024 : index
		%pool_offset_2048 = arith.constant 2048 : index
		%pool_addr_2048 = arith.addi %pool, %pool_offset_2048 : index
		%pool_offset_3072 = arith.constant 3072 : index
		%pool_addr_3072 = arith.addi %pool, %pool_offset_3072 : index
		%pool_offset_4096 = arith.constant 4096 : index
		%pool_addr_4096 = arith.addi %pool, %pool_offset_4096 : index
		%pool_offset_5120 = arith.constant 5120 : index
		%pool_addr_5120 = arith.addi %pool, %pool_offset_5120 : index
		%pool_offset_6144 = arith.constant 6144 : index
		%pool_addr_6144 = arith.addi %pool, %pool_offset_6144 : index
		%pool_offset_7168 = arith.constant 7168 : index
		%pool_addr_7168 = arith.addi %pool, %pool_offset_7168 : index
		%pool_offset_8192 = arith.constant 8192 : index
		%pool_addr_8192 = arith.addi %pool, %pool_offset_8192 : index
		%pool_offset_9216 = arith.constant 9216 : index
		%pool_addr_9216 = arith.addi %pool, %pool_offset_9216 : index
		%pool_offset_10240 = arith.constant 10240 : index
		%pool_addr_10240 = arith.addi %pool, %pool_offset_10240 : index
		%pool_offset_11264 = arith.constant 11264 : index
		%pool_addr_11264 = arith.addi %pool, %pool_offset_11264 : index
		%pool_offset_12288 = arith.constant 12288 : index
		%pool_addr_12288 = arith.addi %pool, %pool_offset_12288 : index
		%pool_offset_13312 = arith.constant 13312 : index
		%pool_addr_13312 = arith.addi %pool, %pool_offset_13312 : index
		%pool_offset_14336 = arith.constant 14336 : index
		%pool_addr_14336 = arith.addi %pool, %pool_offset_14336 : index
		%pool_offset_15360 = arith.constant 15360 : index
		%pool_addr_15360 = arith.addi %pool, %pool_offset_15360 : index
		%arg_1_core_offset_6400 = arith.constant 6400 : index
		%arg_1_core_6400 = arith.addi %arg_1, %arg_1_core_offset_6400 : index
		%arg_1_core_offset_12800 = arith.constant 12800 : index
		%arg_1_core_12800 = arith.addi %arg_1, %arg_1_core_offset_12800 : index
		%arg_1_core_offset_19200 = arith.constant 19200 : index
		%arg_1_core_19200 = arith.addi %arg_1, %arg_1_core_offset_19200 : index
		sdscbundle.sdsc_execute (%arg_0, %pool_addr_0) {sdsc_filename="sdsc_0.json", "symbol_ids"=[-1, -2]}
		sdscbundle.sdsc_execute (%pool_addr_0, %pool_addr_1024, %pool_addr_2048, %pool_addr_3072, %pool_addr_4096, %pool_addr_5120, %pool_addr_6144, %pool_addr_7168, %pool_addr_8192, %pool_addr_9216, %pool_addr_10240, %pool_addr_11264, %pool_addr_12288, %pool_addr_13312, %pool_addr_14336, %pool_addr_15360, %arg_1, %arg_1_core_6400, %arg_1_core_12800, %arg_1_core_19200) {sdsc_filename="sdsc_1.json", "symbol_ids"=[-3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15, -16, -17, -18, -19, -20, -21, -22]}
		return
	}
}
