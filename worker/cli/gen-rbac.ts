// The command `pawl gen rbac`.

import { Command } from 'commander'

import { genRbac } from '../gen/rbac-file.ts'
import { UsageError } from '../server/usage-error.ts'
import { joined } from './usage.ts'

interface GenRbacFlags {
  readonly wings?: string
  readonly name?: string
  readonly namespace?: string
  readonly accounts?: string
  readonly out?: string
  readonly check?: true
}

export function genRbacCommand(): Command {
  return new Command('rbac')
    .description('write the roles that bridge and worker need for the controllers of modules, or for wings')
    .argument('[files...]', 'modules that export controllers, as for --controllers')
    .option(
      '--wings <names>',
      'for these wings, such as landscaper; in all namespaces deploy/rbac has their roles',
      joined,
    )
    .option('--name <name>', "roles are called pawl-bridge-NAME and pawl-worker-NAME (default: the controllers' names)")
    .option(
      '--namespace <names>',
      'Roles in these namespaces, where the objects are (default: ClusterRoles for all)',
      joined,
    )
    .option(
      '--accounts <namespace>',
      'also bind them to the ServiceAccounts pawl-bridge and pawl-worker of a namespace',
    )
    .option('--out <file>', 'the file to write, such as rbac.yaml (default: standard output)')
    .option('--check', 'change nothing; exit code 1 when the file is stale')
    .addHelpText(
      'after',
      '\nExamples:\n  pawl gen rbac shop.ts --out rbac.yaml\n  pawl gen rbac --wings landscaper --namespace team-a',
    )
    .action(async (files: readonly string[], { wings, name, namespace, accounts, out, check }: GenRbacFlags) => {
      if (check === true && out === undefined)
        throw new UsageError('--check has nothing to compare with, expected --out <file>')
      if (files.length === 0 && wings === undefined)
        throw new UsageError('neither modules nor wings are named, expected controllers.ts or --wings landscaper')
      process.exitCode = await genRbac({
        files,
        name,
        accounts,
        out,
        check: check ?? false,
        wings: namesIn(wings),
        namespaces: namesIn(namespace),
        print: (text) => process.stdout.write(text),
        complain: (line) => process.stderr.write(`${line}\n`),
      })
    })
}

function namesIn(flag = ''): readonly string[] {
  return flag.split(',').flatMap((one) => (one.trim() === '' ? [] : [one.trim()]))
}
