	.text
	.section	.AMDGPU.config
	.long	166100
	.long	516
	.long	165900
	.long	0
	.long	166120
	.long	0
	.text
	.globl	naive
	.p2align	8
	.type	naive,@function
naive:
naive$local:
.Lfunc_begin0:
	.file	0 "n.cl" md5 0x8d8e3ce7e9320ecd72a578e929ede562
	.loc	0 2 0
	.cfi_sections .debug_frame
	.cfi_startproc
	.loc	0 3 42 prologue_end
	ALU_PUSH_BEFORE 10, @20, KC0[CB0:0-32], KC1[]
	JUMP @12 POP:1
	ALU 11, @31, KC0[CB0:0-32], KC1[]
	LOOP_START_DX10 @11
	.loc	0 5 23
	ALU 2, @43, KC0[], KC1[]
	.loc	0 5 57 is_stmt 0
	TEX 1 @16
	.loc	0 5 37
	ALU_PUSH_BEFORE 6, @46, KC0[], KC1[]
	JUMP @10 POP:1
	LOOP_BREAK @10
	POP @10 POP:1
	END_LOOP @4
	POP @12 POP:1
	ALU 6, @53, KC0[CB0:0-32], KC1[]
	.loc	0 6 25 is_stmt 1
	MEM_RAT_CACHELESS STORE_RAW T1.X, T0.X, 1
	.loc	0 7 1
	CF_END
	PAD
	Fetch clause starting at 16:
	.loc	0 5 57
	  VTX_READ_32 T3.X, T3.X, 0, #1
	.loc	0 5 40 is_stmt 0
	  VTX_READ_32 T2.X, T2.X, 0, #1
	.loc	0 7 1 is_stmt 1
	ALU clause starting at 20:
	.loc	0 3 42
	  MULLO_INT * T0.Z, KC0[1].W, T1.Y,  
	  ADD_INT   T0.W, PS, T0.Y,  
	.loc	0 3 18 is_stmt 0
	  MULLO_INT * T0.Y, KC0[1].Z, T1.X,  
	.loc	0 3 42
	  ADD_INT   T0.W, PV.W, KC0[3].W,  
	.loc	0 3 18
	  ADD_INT * T1.W, PS, T0.X,  
	  MOV   T1.X, literal.x,  
	  ADD_INT   T0.Z, PS, KC0[3].Z,  
	.loc	0 5 23 is_stmt 1
	  SETGT_INT   T1.W, 1, KC0[3].X,  
	  MULLO_INT * T0.X, PV.W, KC0[3].X,  
	0(0.000000e+00), 0(0.000000e+00)
	  PRED_SETE_INT * ExecMask,PredicateBit (MASKED), PV.W, 0.0,  
	.loc	0 7 1
	ALU clause starting at 31:
	  MOV   T1.X, literal.x,  
	.loc	0 5 5
	  LSHL   T0.W, T0.X, literal.y,  
	  MOV * T1.W, KC0[2].Y,  
	0(0.000000e+00), 2(2.802597e-45)
	  ADD_INT   T2.X, PS, PV.W,  
	  MOV   T1.Z, KC0[3].X,  
	  LSHL   T0.W, T0.Z, literal.x,  
	  MOV * T1.W, KC0[2].Z,  
	2(2.802597e-45), 0(0.000000e+00)
	  ADD_INT   T3.X, PS, PV.W,  
	  LSHL * T0.W, PV.Z, literal.x,  
	2(2.802597e-45), 0(0.000000e+00)
	.loc	0 7 1
	ALU clause starting at 43:
	.loc	0 5 23
	  ADD_INT   T1.W, T2.X, literal.x,  
	  ADD_INT * T2.W, T3.X, T0.W,  
	.loc	0 5 57 is_stmt 0
	4(5.605194e-45), 0(0.000000e+00)
	.loc	0 7 1 is_stmt 1
	ALU clause starting at 46:
	.loc	0 5 37
	  MULADD_IEEE   T1.X, T2.X, T3.X, T1.X, 
	  MOV * T3.X, T2.W,  
	.loc	0 5 23 is_stmt 0
	  ADD_INT * T1.Z, T1.Z, literal.x,  
	-1(nan), 0(0.000000e+00)
	  MOV   T2.X, T1.W,  
	  SETE_INT * T1.W, PV.Z, 0.0,  
	  PRED_SETNE_INT * ExecMask,PredicateBit (MASKED), PV.W, 0.0,  
	.loc	0 7 1 is_stmt 1
	ALU clause starting at 53:
	  MOV   T0.Y, KC0[2].W,  
	.loc	0 6 15
	  ADD_INT * T0.W, T0.X, T0.Z,  
	.loc	0 6 5 is_stmt 0
	  LSHL * T0.W, PV.W, literal.x,  
	2(2.802597e-45), 0(0.000000e+00)
	  ADD_INT * T0.W, T0.Y, PV.W,  
	.loc	0 6 25
	  LSHR * T0.X, PV.W, literal.x,  
	2(2.802597e-45), 0(0.000000e+00)
.Ltmp0:
.Lfunc_end0:
	.size	naive, .Lfunc_end0-naive
	.cfi_endproc

