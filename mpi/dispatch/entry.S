/* The exported names, MPI_X and PMPI_X of each row of the table: a jump to where pp_dispatch_slot says, with all arguments where
 * they are. A slot that is empty is asked of pp_dispatch() in dispatch.c. */
	.text
	.set	pp_index, 0

#if defined(__x86_64__)

	.macro pp_name name
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	movq	pp_dispatch_slot + 8 * pp_index(%rip), %r11
	testq	%r11, %r11
	jz	1f
	jmp	*%r11
1:	movl	$pp_index, %r11d
	jmp	pp_dispatch_first
	.cfi_endproc
	.size	\name, . - \name
	.set	pp_index, pp_index + 1
	.endm

/* r11: the index. The registers of arguments are kept, also rax, the number of floating-point ones of a variable list. */
	.type	pp_dispatch_first, @function
pp_dispatch_first:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%r8
	pushq	%r9
	pushq	%rax
	pushq	%r10
	subq	$128, %rsp
	movups	%xmm0, (%rsp)
	movups	%xmm1, 16(%rsp)
	movups	%xmm2, 32(%rsp)
	movups	%xmm3, 48(%rsp)
	movups	%xmm4, 64(%rsp)
	movups	%xmm5, 80(%rsp)
	movups	%xmm6, 96(%rsp)
	movups	%xmm7, 112(%rsp)
	movl	%r11d, %edi
	movq	8(%rbp), %rsi
	call	pp_dispatch
	movq	%rax, %r11
	movups	(%rsp), %xmm0
	movups	16(%rsp), %xmm1
	movups	32(%rsp), %xmm2
	movups	48(%rsp), %xmm3
	movups	64(%rsp), %xmm4
	movups	80(%rsp), %xmm5
	movups	96(%rsp), %xmm6
	movups	112(%rsp), %xmm7
	addq	$128, %rsp
	popq	%r10
	popq	%rax
	popq	%r9
	popq	%r8
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	jmp	*%r11
	.cfi_endproc
	.size	pp_dispatch_first, . - pp_dispatch_first

#elif defined(__aarch64__)

	.macro pp_name name
	.globl	\name
	.type	\name, %function
	.p2align 4
\name:
	.cfi_startproc
	adrp	x16, pp_dispatch_slot + 8 * pp_index
	ldr	x16, [x16, :lo12:pp_dispatch_slot + 8 * pp_index]
	cbz	x16, 1f
	br	x16
1:	mov	w16, pp_index
	b	pp_dispatch_first
	.cfi_endproc
	.size	\name, . - \name
	.set	pp_index, pp_index + 1
	.endm

/* w16: the index */
	.type	pp_dispatch_first, %function
pp_dispatch_first:
	.cfi_startproc
	stp	x29, x30, [sp, #-224]!
	.cfi_def_cfa_offset 224
	.cfi_offset x29, -224
	.cfi_offset x30, -216
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	stp	x2, x3, [sp, #32]
	stp	x4, x5, [sp, #48]
	stp	x6, x7, [sp, #64]
	str	x8, [sp, #80]
	stp	q0, q1, [sp, #96]
	stp	q2, q3, [sp, #128]
	stp	q4, q5, [sp, #160]
	stp	q6, q7, [sp, #192]
	mov	w0, w16
	mov	x1, x30
	bl	pp_dispatch
	mov	x16, x0
	ldp	x0, x1, [sp, #16]
	ldp	x2, x3, [sp, #32]
	ldp	x4, x5, [sp, #48]
	ldp	x6, x7, [sp, #64]
	ldr	x8, [sp, #80]
	ldp	q0, q1, [sp, #96]
	ldp	q2, q3, [sp, #128]
	ldp	q4, q5, [sp, #160]
	ldp	q6, q7, [sp, #192]
	ldp	x29, x30, [sp], #224
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	br	x16
	.cfi_endproc
	.size	pp_dispatch_first, . - pp_dispatch_first

#else
#error "no jumps for this processor: build with -DPODPROF_MPI=OFF"
#endif

#define PP_MPI(symbol, ...)	pp_name MPI_##symbol; pp_name PMPI_##symbol;
#include "core/call/mpi_call.def"

	.section .note.GNU-stack, "", %progbits
