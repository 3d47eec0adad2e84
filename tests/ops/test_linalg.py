"""Linear algebra and Fourier transforms: CPU's bits, forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import torch_neuron_sim

Compare = Callable[..., Any]

L = torch.linalg

# Of a stack of well-conditioned symmetric positive definite 4 x 4 matrices.
FUNCTIONS: dict[str, Callable[[Tensor], Any]] = {
    "cholesky": lambda a: L.cholesky(a),
    "cholesky, upper": lambda a: L.cholesky(a, upper=True),
    "cholesky_inverse": lambda a: torch.cholesky_inverse(a),
    "cholesky_solve": lambda a: torch.cholesky_solve(a[..., :2], a.tril()),
    "inv": lambda a: L.inv(a),
    "pinv": lambda a: L.pinv(a),
    "det": lambda a: [L.det(a), L.slogdet(a)],
    "solve": lambda a: [L.solve(a, a[..., :2]), L.solve(a, a, left=False), torch.linalg.solve(a, a[..., 0])],
    "solve_triangular": lambda a: L.solve_triangular(a.triu(), a, upper=True),
    "triangular_solve": lambda a: torch.triangular_solve(a[..., :1], a),
    # The default driver (gelsy) does not repeat itself on CPU.
    "lstsq": lambda a: L.lstsq(a, a[..., :2], driver="gels")[0],
    "lu": lambda a: L.lu(a),
    "lu_factor and lu_solve": lambda a: [f := L.lu_factor(a), L.lu_solve(*f, a)],
    "lu_unpack": lambda a: torch.lu_unpack(*L.lu_factor(a)),
    "ldl": lambda a: L.ldl_solve(*L.ldl_factor(a.detach()), a.detach()),
    "qr": lambda a: [L.qr(a), L.qr(a.detach(), mode="r")],
    "householder_product": lambda a: L.householder_product(*torch.geqrf(a.detach())),
    "ormqr": lambda a: torch.ormqr(*torch.geqrf(a.detach()), a.detach()),
    "eigh": lambda a: [L.eigh(a)[0], L.eigvalsh(a)],
    "eig": lambda a: [L.eigvals(a), L.eig(a.detach())],
    "svd": lambda a: [L.svd(a.tril())[1], L.svdvals(a), torch.svd_lowrank(a.detach(), 2)[1].shape],
    "norms": lambda a: [L.norm(a), L.matrix_norm(a, "nuc"), L.matrix_norm(a, 2), L.vector_norm(a, 3, -1), L.cond(a)],
    "rank": lambda a: L.matrix_rank(a),
    "exponential": lambda a: L.matrix_exp(a / 9),
    "power": lambda a: [L.matrix_power(a, 3), L.matrix_power(a, -2)],
    "products": lambda a: [
        a @ a,
        torch.bmm(a, a),
        torch.baddbmm(a, a, a),
        L.multi_dot([a[0], a[1], a[0]]),
        a @ a[0, 0],
    ],
    "more products": lambda a: [
        torch.addmm(a[0], a[0], a[1], alpha=2),
        torch.addbmm(a[0], a, a),
        torch.chain_matmul(*a),
    ],
    "vectors": lambda a: [
        torch.dot(a[0, 0], a[0, 1]),
        torch.outer(a[0, 0], a[0, 1]),
        torch.addr(a[0], a[0, 0], a[0, 1]),
    ],
    "mixed": lambda a: [
        torch.kron(a[0], a[1]),
        torch.trace(a[0]),
        torch.cdist(a, a.flip(1)),
        L.cross(a[..., :3], a[..., 1:]),
    ],
    "einsum": lambda a: [
        torch.einsum("bij,bjk->ik", a, a),
        torch.einsum("bii->b", a),
        torch.tensordot(a, a, ([1, 2], [2, 1])),
    ],
    "vander and diagonal": lambda a: [L.vander(a[0, 0]), L.diagonal(a), torch.block_diag(*a)],
    "covariance": lambda a: [torch.cov(a[0]), torch.corrcoef(a[0])],
    "tensor inverse": lambda a: [L.tensorinv(a[0].reshape(4, 2, 2), ind=1), L.tensorsolve(a[0], a[0, 0])],
}
TRANSFORMS: dict[str, Callable[[Tensor], Any]] = {
    "fft and ifft": lambda x: [
        torch.fft.fft(x),
        torch.fft.ifft(torch.fft.fft(x, 7)),
        torch.fft.fft(x, dim=1, norm="ortho"),
    ],
    "rfft and irfft": lambda x: [z := torch.fft.rfft(x), torch.fft.irfft(z, x.size(-1)), torch.fft.irfft(z)],
    "hfft and ihfft": lambda x: [torch.fft.hfft(x), torch.fft.ihfft(x)],
    "two dimensions": lambda x: [torch.fft.fft2(x), torch.fft.rfft2(x), torch.fft.irfft2(torch.fft.rfft2(x))],
    "many dimensions": lambda x: [torch.fft.fftn(x), torch.fft.rfftn(x), torch.fft.ifftn(torch.fft.fftn(x))],
    "shifts": lambda x: [torch.fft.fftshift(x), torch.fft.ifftshift(x, 1)],
    "stft and istft": lambda x: [
        z := torch.stft(x.flatten(), 16, window=torch.hann_window(16, device=x.device), return_complex=True),
        torch.istft(z, 16, window=torch.hann_window(16, device=x.device)),
    ],
    "magnitude": lambda x: torch.fft.rfft(x).abs().square().sum(),
}


def matrices() -> Tensor:
    a = torch.randn(3, 4, 4, generator=torch.Generator().manual_seed(4))
    return a @ a.mT + 4 * torch.eye(4)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients(same_as_cpu: Compare, name: str) -> None:
    same_as_cpu(FUNCTIONS[name], matrices().requires_grad_())
    same_as_cpu(FUNCTIONS[name], matrices().permute(0, 2, 1).contiguous().mT)


@pytest.mark.parametrize("name", ["cholesky", "inv", "det", "solve", "qr", "eigh", "svd", "products", "norms"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64], ids=str)
def test_dtypes(same_as_cpu: Compare, name: str, dtype: torch.dtype) -> None:
    same_as_cpu(FUNCTIONS[name], matrices().to(dtype).requires_grad_())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int32], ids=str)
def test_products_of_other_dtypes(same_as_cpu: Compare, dtype: torch.dtype) -> None:
    same_as_cpu(FUNCTIONS["products"], matrices().to(dtype))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_fourier_transforms(same_as_cpu: Compare, name: str) -> None:
    x = torch.randn(2, 3, 12, generator=torch.Generator().manual_seed(5))
    same_as_cpu(TRANSFORMS[name], x.requires_grad_())
    same_as_cpu(TRANSFORMS[name], x.detach().transpose(0, 1))


def test_fourier_transforms_of_complex_and_double(same_as_cpu: Compare) -> None:
    z = torch.randn(3, 8, dtype=torch.complex128, generator=torch.Generator().manual_seed(6))
    same_as_cpu(lambda z: [torch.fft.fft(z), torch.fft.ifft2(z), torch.fft.hfft(z), torch.fft.fft(z.conj())], z)
    same_as_cpu(lambda x: [torch.fft.rfft(x), torch.fft.fft(x)], z.real)


def test_results_fulfil_their_equations() -> None:
    a = matrices().to("neuron")
    eye = torch.eye(4).expand(3, 4, 4)
    factor = L.cholesky(a)
    q, r = L.qr(a)
    w, v = L.eigh(a)
    torch.testing.assert_close((factor @ factor.mT).cpu(), a.cpu())
    torch.testing.assert_close((q @ r).cpu(), a.cpu())
    torch.testing.assert_close((v @ torch.diag_embed(w) @ v.mT).cpu(), a.cpu())
    torch.testing.assert_close((a @ L.inv(a)).cpu(), eye, atol=1e-5, rtol=1e-5)
    x = torch.randn(5, 16, device="neuron")
    torch.testing.assert_close(torch.fft.irfft(torch.fft.rfft(x)), x)


def test_factorisations_and_transforms_are_fallbacks() -> None:
    a = matrices().to("neuron")
    torch_neuron_sim.clear_op_tracking()
    L.cholesky(a), torch.fft.fft(a), L.inv(a)
    assert torch_neuron_sim.get_fallback_ops() == [
        "aten::linalg_cholesky_ex.L",
        "aten::_fft_r2c",
        "aten::linalg_inv_ex.inverse",
    ]
