// The command `pawl gen crd`.

import { Command } from 'commander'

import { genCrd } from '../gen/crd-file.ts'
import { UsageError } from '../server/usage-error.ts'

interface GenCrdFlags {
  readonly out?: string
  readonly check?: true
}

export function genCrdCommand(): Command {
  return new Command('crd')
    .description('write the CustomResourceDefinitions of the kinds that modules export')
    .argument('<files...>', 'modules with kinds, such as kind.ts')
    .option('--out <file>', 'the file to write, such as widget.crd.yaml (default: standard output)')
    .option('--check', 'change nothing; exit code 1 when the file is stale')
    .addHelpText('after', '\nExamples:\n  pawl gen crd kind.ts --out widget.crd.yaml')
    .action(async (files: readonly string[], { out, check }: GenCrdFlags) => {
      if (check === true && out === undefined)
        throw new UsageError('--check has nothing to compare with, expected --out <file>')
      process.exitCode = await genCrd({
        files,
        out,
        check: check ?? false,
        print: (text) => process.stdout.write(text),
        complain: (line) => process.stderr.write(`${line}\n`),
      })
    })
}
