// The command `pawl gen new`.

import { Command } from 'commander'

import { genNew } from '../gen/new-kind.ts'

interface Options {
  readonly group: string
  readonly wing?: string
  readonly out?: string
}

/** @param checkout The checkout of Pawl that the current folder is in; undefined in a project of its own. */
export function genNewCommand(checkout: string | undefined): Command {
  return new Command('new')
    .description('write the skeleton of a new kind: definition, controller, plans, actions and their test')
    .argument('<kind>', 'name of the kind, such as Backup')
    .option('--group <group>', 'API group of the kind', 'example.com')
    .option('--wing <wing>', "in Pawl's checkout: the wing that it belongs to (default: the first part of the group)")
    .option(
      '-o, --out <dir>',
      "where to put the kind's folder (default: the current folder; in Pawl's checkout its wing)",
    )
    .addHelpText('after', '\nExamples:\n  pawl gen new Backup --group example.com')
    .action(async (kind: string, { group, wing, out }: Options) => {
      const place = out ?? checkout
      process.exitCode = await genNew({
        root: place ?? '.',
        layout: out === undefined && checkout !== undefined ? 'checkout' : 'project',
        kind,
        group,
        wing,
        print: (line) => process.stdout.write(`${line}\n`),
        complain: (line) => process.stderr.write(`${line}\n`),
      })
    })
}
