// The command `pawl gen` and those below it.

import { Command } from 'commander'
import { fileURLToPath } from 'node:url'

import { gen } from '../gen.ts'
import { genTypesCommand } from './gen-types.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export function genCommand(): Command {
  return new Command('gen')
    .description('write the files that derive from the kinds: CRDs, roles, the workflow index')
    .option('--check', 'change nothing; exit code 1 when something is stale')
    .action(async ({ check }: { check?: true }) => {
      const print = (line: string) => process.stdout.write(`${line}\n`)
      process.exitCode = await gen({ root: ROOT, check: check ?? false, print })
    })
    .enablePositionalOptions()
    .addCommand(genTypesCommand())
}
