"""Threads follow the cores, slots and context the free memory; what does not fit is refused with a sentence."""

import pytest

from heard.chat_app.models.embedded_models import CATALOGUE, SMOLLM2
from heard.chat_app.models.engine_plan import EnginePlan, NotEnoughMemoryError, plan_engine, threads_for

GB = 1_000_000_000
QWEN = CATALOGUE["qwen2.5-1.5b-instruct"]


def plan(memory: float, cores: int = 2, *, shorten: bool = True) -> EnginePlan:
    room = {"memory": int(memory * GB), "cores": cores}
    return plan_engine("Qwen", QWEN.bytes or 0, QWEN.kv_bytes, context_tokens=4096, shorten=shorten, **room)


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 4), (64, 4)])
def test_threads_follow_the_cores(cores: int, threads: int) -> None:
    assert threads_for(cores) == threads
    assert plan(8, cores).threads == threads


@pytest.mark.parametrize(
    ("memory", "slots", "context"), [(8, 4, 4096), (2.1, 4, 2048), (1.95, 2, 2048), (1.85, 1, 2048)]
)
def test_context_and_slots_follow_the_memory(memory: float, slots: int, context: int) -> None:
    made = plan(memory)
    assert (made.slots, made.context_tokens) == (slots, context)
    assert not made.mapped


def test_a_fixed_context_costs_slots() -> None:
    assert (plan(2.1, shorten=False).slots, plan(2.1, shorten=False).context_tokens) == (2, 4096)


def test_too_little_memory_is_a_sentence() -> None:
    with pytest.raises(NotEnoughMemoryError, match=r'"Qwen" needs 1\.8 GB of free memory, and 1\.0 GB are free'):
        plan(1.0)


def test_the_small_model_runs_on_one_thread() -> None:
    made = plan_engine("S", SMOLLM2.bytes or 0, SMOLLM2.kv_bytes, context_tokens=2048, memory=GB, cores=64)
    assert made == EnginePlan()
    assert (made.threads, made.slots, made.mapped) == (1, 4, True)
    with pytest.raises(NotEnoughMemoryError):
        plan_engine("S", SMOLLM2.bytes or 0, SMOLLM2.kv_bytes, context_tokens=2048, memory=GB // 10, cores=1)
