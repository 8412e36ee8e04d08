// The command `pawl gen new`.

import { Command } from 'commander'

import { genNew } from '../gen/new-kind.ts'

export function genNewCommand(root: string): Command {
  return new Command('new')
    .description('write the skeleton of a new kind: definition, controller, plan, one action and its test')
    .argument('<kind>', 'name of the kind, such as Backup')
    .option('--group <group>', 'API group of the kind', 'example.com')
    .action(async (kind: string, { group }: { readonly group: string }) => {
      process.exitCode = await genNew({
        root,
        kind,
        group,
        print: (line) => process.stdout.write(`${line}\n`),
        complain: (line) => process.stderr.write(`${line}\n`),
      })
    })
}
