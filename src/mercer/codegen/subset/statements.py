"""Functions and statements of the compiled part of Python, as LLVM IR.

A loop checks what it surely looks at before it begins, so that nothing but arithmetic is left inside and
it can become
vectors; every other index is checked where it is used. An index out of its array ends the function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from llvmlite import ir

from mercer.codegen.subset.grammar import (
    ArrayOf,
    FunctionOf,
    RecordOf,
    Records,
    Unsupported,
    assigned,
    certain,
    leaves_early,
    parts_of,
    path,
    tree_of,
)
from mercer.codegen.subset.values import F32, F64, I1, I64, ArrayAt, Given, RecordAt, Values, is_number


class _Function(Values):
    """One function of the subset, as IR."""

    def emit(self, others: dict[str, Values]) -> None:
        self.others = others
        self.entry = self.ir.append_basic_block("entry")
        body = self.ir.append_basic_block("body")
        self.b = ir.IRBuilder(body)
        self.loops: list[tuple[Any, Any]] = []
        given = iter(self.ir.args)
        for argument, kind in zip(self.tree.args.args, self.types):
            value = self._received(kind, given)
            if is_number(value):
                self._assign(argument.arg, value)
            else:
                self.names[argument.arg] = value
        self._block(self.tree.body)
        if not self.b.block.is_terminated:
            if self.result is not None:
                raise Unsupported(f"{self.tree.name} ends without a result")
            self.leave(ir.Constant(I64, 0))
        ir.IRBuilder(self.entry).branch(body)

    def _received(self, kind: Any, given: Iterator[Any]) -> Any:
        """What was handed over for one parameter, put together again."""
        if isinstance(kind, RecordOf):
            return RecordAt(kind, {name: self._received(field, given) for name, field in kind.fields})
        value = next(given)
        if isinstance(kind, FunctionOf):
            return Given(kind, value)
        if not isinstance(kind, ArrayOf):
            return value
        value.add_attribute("noalias")
        lengths = tuple(next(given) for _ in range(kind.axes))
        return ArrayAt(kind, value, lengths, next(given) if kind.axes == 2 else None)

    # -- statements --------------------------------------------------------------------------------

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self.b.block.is_terminated:
                return
            getattr(self, f"_do_{type(statement).__name__}", self.refuse)(statement)

    def _do_Pass(self, node: ast.Pass) -> None:
        pass

    def _do_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.value(node.value)

    def _do_Return(self, node: ast.Return) -> None:
        if (node.value is None) != (self.result is None):
            self.refuse(node)
        result = None if node.value is None else self.cast(self.value(node.value), self.result)
        self.leave(ir.Constant(I64, 0), result)

    def _do_Assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            self.refuse(node)
        self._store(node.targets[0], self.value(node.value))

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        load = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
        self._store(node.target, self.value(load))

    def _store(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._assign(target.id, value)
        elif isinstance(target, ast.Subscript):
            kind, pointer = self.place(target)
            value = self.cast(value, F64 if kind is F32 else kind)
            self.b.store(self.b.fptrunc(value, F32) if kind is F32 else value, pointer)
        else:
            self.refuse(target)

    def _assign(self, name: str, value: Any) -> None:
        if name not in self.names:
            kind = getattr(value, "type", None)
            if kind not in (I1, I64, F64):
                raise Unsupported(f"{name} can only be given a number, in {self.tree.name}")
            with self.b.goto_block(self.entry):
                self.names[name] = self.b.alloca(kind, name=name)
        place = self.names[name]
        if not is_number(place):
            raise Unsupported(f"{name} can't be assigned to, in {self.tree.name}")
        self.b.store(self.cast(value, place.allocated_type), place)

    def _do_If(self, node: ast.If) -> None:
        yes, after = (self.ir.append_basic_block() for _ in range(2))
        no = self.ir.append_basic_block() if node.orelse else after
        self.b.cbranch(self.truth(node.test), yes, no)
        goes_on = not node.orelse
        for block, statements in ((yes, node.body), (no, node.orelse)):
            if statements:
                self.b.position_at_end(block)
                self._block(statements)
                if not self.b.block.is_terminated:
                    self.b.branch(after)
                    goes_on = True
        self.b.position_at_end(after)
        if not goes_on:
            self.b.unreachable()

    def _do_While(self, node: ast.While) -> None:
        if node.orelse:
            self.refuse(node)
        head, body, after = (self.ir.append_basic_block() for _ in range(3))
        self.b.branch(head)
        self.b.position_at_end(head)
        self.b.cbranch(self.truth(node.test), body, after)
        self._loop_body(node.body, body, head, after)

    def _do_For(self, node: ast.For) -> None:
        call = node.iter
        if node.orelse or not isinstance(node.target, ast.Name) or not _is_range(call):
            self.refuse(node)
        assert isinstance(call, ast.Call) and isinstance(node.target, ast.Name)
        bounds = [self.cast(self.value(a), I64) for a in call.args]
        low, high = (ir.Constant(I64, 0), bounds[0]) if len(bounds) == 1 else bounds
        before_loop = self.safe
        self.safe = before_loop | self._check_ahead(node, low, high)
        head, body, step, after = (self.ir.append_basic_block() for _ in range(4))
        before = self.b.block
        self.b.branch(head)
        self.b.position_at_end(head)
        counter = self.b.phi(I64)
        counter.add_incoming(low, before)
        self.b.cbranch(self.b.icmp_signed("<", counter, high), body, after)
        self.b.position_at_end(body)
        self._assign(node.target.id, counter)
        self._loop_body(node.body, body, step, after)
        self.b.position_at_end(step)
        counter.add_incoming(self.b.add(counter, ir.Constant(I64, 1)), step)
        self.b.branch(head)
        self.b.position_at_end(after)
        self.safe = before_loop

    def _check_ahead(self, node: ast.For, low: Any, high: Any) -> set[tuple[str, int, str]]:
        """Check, unless the loop has no turn at all, the indices it surely uses that stay the same.

        Those are its own counter, with all the values it will have, and names and numbers from outside.
        """
        assert isinstance(node.target, ast.Name)
        changed, found = assigned(node.body), set()
        if leaves_early(node.body):
            changed.add(node.target.id)  # who knows which values it will have
        empty = self.b.icmp_signed(">=", low, high)
        for place in certain(node.body):
            name = path(place.value)
            root = self.names.get(name.partition(".")[0])
            view = self.value(place.value) if isinstance(root, (ArrayAt, RecordAt)) else None
            if not isinstance(view, ArrayAt) or len(parts_of(place)) > view.type.axes:
                continue
            for axis, part in enumerate(parts_of(place)):
                key = name, axis, ast.dump(part)
                if key in self.safe or key in found or not isinstance(part, (ast.Name, ast.Constant)):
                    continue
                if isinstance(part, ast.Name) and part.id == node.target.id:
                    if part.id in changed:
                        continue
                    last = self.b.sub(high, ir.Constant(I64, 1))
                    inside = self.b.and_(self.inside(view, axis, low), self.inside(view, axis, last))
                elif isinstance(part, ast.Name) and (part.id in changed or not self._whole_name(part.id)):
                    continue
                else:
                    inside = self.inside(view, axis, self.cast(self.value(part), I64))
                self.require(self.b.or_(empty, inside), place)
                found.add(key)
        return found

    def _whole_name(self, name: str) -> bool:
        """Does this name stand for an integer already?"""
        place = self.names.get(name)
        if place is None:
            return isinstance(self.constants.get(name), int)
        return is_number(place) and place.allocated_type == I64

    def _loop_body(self, statements: Sequence[ast.stmt], body: Any, again: Any, after: Any) -> None:
        self.b.position_at_end(body)
        self.loops.append((again, after))
        self._block(statements)
        self.loops.pop()
        if not self.b.block.is_terminated:
            self.b.branch(again)
        self.b.position_at_end(after)

    def _do_Break(self, node: ast.Break) -> None:
        self.b.branch(self.loops[-1][1])

    def _do_Continue(self, node: ast.Continue) -> None:
        self.b.branch(self.loops[-1][0])

    # -- from outside ------------------------------------------------------------------------------

    def emit_door(self) -> None:
        """The function as others call it: it returns its fault, and puts a result where it is told to."""
        kinds = [a.type for a in self.ir.args] + ([] if self.result is None else [ir.PointerType()])
        door = ir.Function(self.module, ir.FunctionType(I64, kinds), self.tree.name)
        for argument in door.args:
            if isinstance(argument.type, ir.PointerType):
                argument.add_attribute("noalias")
        b = ir.IRBuilder(door.append_basic_block())
        if self.result is None:
            b.ret(b.call(self.ir, door.args))
            return
        out = b.call(self.ir, door.args[:-1])
        b.store(b.extract_value(out, 1), door.args[-1])
        b.ret(b.extract_value(out, 0))


def _is_range(call: ast.expr) -> bool:
    """range(n) or range(low, high)"""
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "range"
        and len(call.args) in (1, 2)
        and not call.keywords
    )


def subset_ir(sources: Sequence[str], fill: str, constants: dict, records: Records) -> str:
    """LLVM IR of functions; each may call those before it, and the last can be called from outside."""
    module = ir.Module()
    known: dict[str, Values] = {}
    for number, source in enumerate(sources):
        function = _Function(module, tree_of(source), number, fill, constants, records)
        function.emit(dict(known))
        known[function.tree.name] = function
    function.emit_door()
    return str(module)
