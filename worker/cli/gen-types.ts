// The command `pawl gen types`.

import { Command } from 'commander'

import { genTypes } from '../gen/crd-types.ts'
import { UsageError } from '../server/usage-error.ts'

interface GenTypesFlags {
  readonly crd: string
  readonly out?: string
  readonly version?: string
  readonly check?: true
}

export function genTypesCommand(): Command {
  return new Command('types')
    .description('write TypeScript types of the kinds that a file of CustomResourceDefinitions defines')
    .requiredOption('--crd <file>', 'the definitions: YAML or JSON, one or many')
    .option('--out <file>', 'the module to write, such as widget.gen.ts (default: standard output)')
    .option('--version <version>', 'only this version of each kind (default: all that are served)')
    .option('--check', 'change nothing; exit code 1 when the module is stale')
    .addHelpText('after', '\nExamples:\n  pawl gen types --crd widget.crd.yaml --out widget.gen.ts')
    .action(async ({ crd, out, version, check }: GenTypesFlags) => {
      if (check === true && out === undefined)
        throw new UsageError('--check has nothing to compare with, expected --out <file>')
      process.exitCode = await genTypes({
        crd,
        out,
        version,
        check: check ?? false,
        print: (text) => process.stdout.write(text),
        complain: (line) => process.stderr.write(`${line}\n`),
      })
    })
}
