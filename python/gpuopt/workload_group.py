"""Groups of the command line whose subcommands are workloads, and files of the user's kernels."""

from __future__ import annotations

import click


class WorkloadGroup(click.Group):
    """A group with a subcommand for each workload, and one for each Python file of the user's. The records, and with
    them the lab, are imported when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._known())

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if self.name == "isa":
            from gpuopt import isa_commands

            if name.endswith((".py", ".cl")):
                return (isa_commands.program_command if name.endswith(".py") else isa_commands.file_command)(name)
        elif name.endswith(".py"):
            from gpuopt import program_commands

            return (program_commands.study_command if self.name == "study" else program_commands.tune_command)(name)
        return self._known().get(name)

    def _known(self) -> dict[str, click.Command]:
        from gpuopt import isa_commands, lab_commands

        if self.name == "isa":
            return isa_commands.COMMANDS

        return lab_commands.STUDIES if self.name == "study" else lab_commands.TUNINGS
