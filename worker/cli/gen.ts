// The command `pawl gen` and its subcommands.

import { Command } from 'commander'
import { existsSync } from 'node:fs'
import { isAbsolute, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

import { gen } from '../gen.ts'
import { genControllers, type GenControllersOptions } from '../gen/controller-modules.ts'
import { UsageError } from '../server/usage-error.ts'
import { genCrd } from '../gen/crd-file.ts'
import { genNew } from '../gen/new-kind.ts'
import { genRbac } from '../gen/rbac-file.ts'
import { joined } from './usage.ts'
import { genTypes } from '../gen/crd-types.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
// In the published package this file is JavaScript.
const isCheckout = existsSync(join(ROOT, 'workflows/kit/index.ts'))

interface GenFlags {
  readonly check?: true
  readonly stdout?: true
  readonly ast?: true
  readonly out?: string
  readonly kit?: string
  readonly boilerplate?: string
  readonly crd?: string
}

/** @param allCommands creates the command line with all commands, for the pages of flags. */
export function genCommand(allCommands: () => Promise<Command>): Command {
  return new Command('gen')
    .description(
      'write what derives from the kinds (CRDs, roles, modules of controllers), or the modules of these .cm files',
    )
    .argument('[files...]', 'documents of controllers; default: all that derives from the kinds in workflows/')
    .option('--check', 'change nothing; exit code 1 when something is stale')
    .option('--stdout', 'print the modules of the files, write none')
    .option('--ast', 'print what the files say as JSON, write nothing')
    .option('-o, --out <dir>', 'folder for the modules (default: the folder of each file)')
    .option('-p, --kit <specifier>', "from where the modules import the kit (default: this checkout's, else pawl/kit)")
    .option('-b, --boilerplate <file>', 'text for the top of each module, such as a licence')
    .option('--crd <file>', 'CustomResourceDefinitions of kinds of others, against which to check the files')
    .action(async (files: readonly string[], flags: GenFlags) => {
      process.exitCode = files.length === 0 ? await genAll(flags, allCommands) : await genFiles(files, flags)
    })
    .enablePositionalOptions()
    .addHelpText('after', '\nExamples:\n  pawl gen --check\n  pawl gen shop.cm --crd cert-manager.yaml')
    .addCommand(genCrdCommand())
    .addCommand(genNewCommand(isCheckout && isBelow(ROOT, process.cwd()) ? ROOT : undefined))
    .addCommand(genRbacCommand())
    .addCommand(genTypesCommand())
}

async function genAll({ check, ...flags }: GenFlags, allCommands: () => Promise<Command>): Promise<number> {
  const [other] = Object.keys(flags)
  if (other !== undefined) throw new UsageError(`found --${other} without files, expected at least one .cm file`)
  if (!isCheckout) throw new UsageError('found no checkout of Pawl and no files, expected at least one .cm file')
  const print = (line: string) => process.stdout.write(`${line}\n`)
  // The commands import the registries, so they are loaded after `gen` has written these.
  const pages = async () => {
    const { KIT_PAGES, kitPages } = await import('../gen/kit-pages.ts')
    const { licencePage } = await import('../gen/licence-page.ts')
    const { flagPages } = await import('./flag-pages.ts')
    const { metricPage } = await import('./metric-page.ts')
    const { alertPage } = await import('./alert-page.ts')
    const files = [
      ...(await flagPages(await allCommands())),
      ...(await kitPages(ROOT)),
      ...metricPage(),
      ...(await alertPage(ROOT)),
      ...(await licencePage(ROOT)),
    ]
    return { files: new Map(files), owned: [KIT_PAGES] }
  }
  // A copy of the checkout may lack docs/; then `gen` creates only docs/reference/kinds.
  const hasPages = existsSync(join(ROOT, 'docs/README.md'))
  return await gen({ root: ROOT, check: check ?? false, print, complain, ...(hasPages && { pages }) })
}

async function genFiles(
  files: readonly string[],
  { check, stdout, ast, out, kit, boilerplate, crd }: GenFlags,
): Promise<number> {
  const modes: readonly (readonly [true | undefined, GenControllersOptions['mode'], string])[] = [
    [check, 'check', '--check'],
    [stdout, 'print', '--stdout'],
    [ast, 'ast', '--ast'],
  ]
  const given = modes.filter(([isGiven]) => isGiven === true)
  if (given.length > 1)
    throw new UsageError(`found ${given.map(([, , flag]) => flag).join(' with ')}, expected one of them`)
  const mode = given[0]?.[1] ?? 'write'
  const print = (text: string) => process.stdout.write(text)
  return await genControllers({ root: ROOT, files, mode, out, kit, boilerplate, crd, print, complain })
}

function isBelow(folder: string, place: string): boolean {
  const path = relative(folder, place)
  return !isAbsolute(path) && !path.startsWith('..')
}

function complain(line: string): void {
  process.stderr.write(`${line}\n`)
}

interface GenCrdFlags {
  readonly out?: string
  readonly check?: true
}

function genCrdCommand(): Command {
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

interface Options {
  readonly group: string
  readonly wing?: string
  readonly out?: string
}

/** @param checkout the checkout of Pawl around the current folder; undefined in a user's project. */
function genNewCommand(checkout: string | undefined): Command {
  return new Command('new')
    .description('write the skeleton of a new kind: definition, controller, plan, action and test')
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

interface GenRbacFlags {
  readonly wings?: string
  readonly name?: string
  readonly namespace?: string
  readonly accounts?: string
  readonly prefix?: string
  readonly out?: string
  readonly check?: true
}

function genRbacCommand(): Command {
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
    .option('--prefix <name>', 'replaces pawl in the names of roles and ServiceAccounts, such as team-a-pawl')
    .option('--out <file>', 'the file to write, such as rbac.yaml (default: standard output)')
    .option('--check', 'change nothing; exit code 1 when the file is stale')
    .addHelpText(
      'after',
      '\nExamples:\n  pawl gen rbac shop.ts --out rbac.yaml\n  pawl gen rbac --wings landscaper --namespace team-a',
    )
    .action(
      async (files: readonly string[], { wings, name, namespace, accounts, prefix, out, check }: GenRbacFlags) => {
        if (check === true && out === undefined)
          throw new UsageError('--check has nothing to compare with, expected --out <file>')
        if (files.length === 0 && wings === undefined)
          throw new UsageError('neither modules nor wings are named, expected controllers.ts or --wings landscaper')
        process.exitCode = await genRbac({
          files,
          name,
          accounts,
          ...(prefix !== undefined && { prefix }),
          out,
          check: check ?? false,
          wings: namesIn(wings),
          namespaces: namesIn(namespace),
          print: (text) => process.stdout.write(text),
          complain: (line) => process.stderr.write(`${line}\n`),
        })
      },
    )
}

function namesIn(flag = ''): readonly string[] {
  return flag.split(',').flatMap((one) => (one.trim() === '' ? [] : [one.trim()]))
}

interface GenTypesFlags {
  readonly crd: string
  readonly out?: string
  readonly version?: string
  readonly check?: true
}

function genTypesCommand(): Command {
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
