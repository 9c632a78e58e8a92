import torch
from mizuoto.mizuoto_runtime.nn.snake import Snake1d, SnakeBeta


def test_formula():
    generator = torch.Generator().manual_seed(0)
    snake = SnakeBeta(3).requires_grad_(False)
    snake.alpha.normal_(generator=generator)
    snake.beta.normal_(generator=generator)
    hidden = torch.randn(2, 3, 50, generator=generator)
    before = hidden.clone()
    frequency, magnitude = snake.alpha.exp()[:, None], snake.beta.exp()[:, None]
    expected = hidden + (1.0 / (magnitude + 1e-9)) * torch.pow(torch.sin(hidden * frequency), 2)
    assert torch.equal(snake(hidden), expected)
    assert torch.equal(hidden, before)


def test_a_vanishing_magnitude_divides_by_no_zero():
    snake = SnakeBeta(1).requires_grad_(False)
    snake.alpha.zero_()
    snake.beta.fill_(-1e4)
    assert snake(torch.ones(1, 1, 1)).isfinite().all()


def test_formula_of_one_slope():
    generator = torch.Generator().manual_seed(0)
    snake = Snake1d(3).requires_grad_(False)
    snake.alpha.normal_(generator=generator)
    hidden = torch.randn(2, 3, 50, generator=generator)
    before = hidden.clone()
    expected = hidden + (snake.alpha + 1e-9).reciprocal() * torch.sin(snake.alpha * hidden).pow(2)
    assert torch.equal(snake(hidden), expected)
    assert torch.equal(hidden, before)
