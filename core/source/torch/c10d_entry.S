/* The exported methods of c10d_method.def: each goes through pp_c10d_through, which calls pp_c10d_enter(frame), then the method
 * that it returns with the arguments as they came, then pp_c10d_leave(frame). An exception passes: the unwind tables are complete,
 * and pp_c10d_personality() learns of it. */
	.text
	.set	pp_index, 0

#if defined(__x86_64__)

	.macro pp_name name
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	movl	$pp_index, %r11d
	jmp	pp_c10d_through
	.cfi_endproc
	.size	\name, . - \name
	.set	pp_index, pp_index + 1
	.endm

/* From rsp: 4 words of arguments on the stack, then struct pp_c10d_frame, whose first words are the registers. */
	.type	pp_c10d_through, @function
pp_c10d_through:
	.cfi_startproc
	.cfi_personality 0x1b, pp_c10d_personality
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq	$256, %rsp
	movq	%rdi, 32(%rsp)
	movq	%rsi, 40(%rsp)
	movq	%rdx, 48(%rsp)
	movq	%rcx, 56(%rsp)
	movq	%r8, 64(%rsp)
	movq	%r9, 72(%rsp)
	movq	%r11, 112(%rsp)
	leaq	32(%rsp), %rdi
	call	pp_c10d_enter
	movq	%rax, %r11
	movq	16(%rbp), %rax
	movq	%rax, (%rsp)
	movq	24(%rbp), %rax
	movq	%rax, 8(%rsp)
	movq	32(%rbp), %rax
	movq	%rax, 16(%rsp)
	movq	40(%rbp), %rax
	movq	%rax, 24(%rsp)
	movq	32(%rsp), %rdi
	movq	40(%rsp), %rsi
	movq	48(%rsp), %rdx
	movq	56(%rsp), %rcx
	movq	64(%rsp), %r8
	movq	72(%rsp), %r9
	call	*%r11
	movq	%rax, (%rsp)
	movq	%rdx, 8(%rsp)
	leaq	32(%rsp), %rdi
	call	pp_c10d_leave
	movq	(%rsp), %rax
	movq	8(%rsp), %rdx
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	pp_c10d_through, . - pp_c10d_through

#elif defined(__aarch64__)

	.macro pp_name name
	.globl	\name
	.type	\name, %function
	.p2align 4
\name:
	.cfi_startproc
	mov	w16, pp_index
	b	pp_c10d_through
	.cfi_endproc
	.size	\name, . - \name
	.set	pp_index, pp_index + 1
	.endm

/* x8: where the returned object goes. All arguments are in registers. From sp: x29, x30, then struct pp_c10d_frame. */
	.type	pp_c10d_through, %function
pp_c10d_through:
	.cfi_startproc
	.cfi_personality 0x1b, pp_c10d_personality
	stp	x29, x30, [sp, #-256]!
	.cfi_def_cfa_offset 256
	.cfi_offset x29, -256
	.cfi_offset x30, -248
	mov	x29, sp
	stp	x0, x1, [sp, #32]
	stp	x2, x3, [sp, #48]
	stp	x4, x5, [sp, #64]
	stp	x6, x7, [sp, #80]
	str	x8, [sp, #96]
	mov	w16, w16
	str	x16, [sp, #112]
	add	x0, sp, #32
	bl	pp_c10d_enter
	mov	x16, x0
	ldp	x0, x1, [sp, #32]
	ldp	x2, x3, [sp, #48]
	ldp	x4, x5, [sp, #64]
	ldp	x6, x7, [sp, #80]
	ldr	x8, [sp, #96]
	blr	x16
	stp	x0, x1, [sp, #16]
	add	x0, sp, #32
	bl	pp_c10d_leave
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #256
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	pp_c10d_through, . - pp_c10d_through

#else
#error "no methods of torch for this processor: core/CMakeLists.txt leaves this file out"
#endif

#define PP_C10D_METHOD(name, ...)	pp_name name;
#include "core/source/torch/c10d_method.def"

	.section .note.GNU-stack, "", %progbits
