// The command `pawl gen` and those below it.

import { Command } from 'commander'
import { existsSync } from 'node:fs'
import { isAbsolute, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

import { gen } from '../gen.ts'
import { genControllers, type GenControllersOptions } from '../gen/controllers.ts'
import { genCrdCommand } from './gen-crd.ts'
import { genNewCommand } from './gen-new.ts'
import { genRbacCommand } from './gen-rbac.ts'
import { genTypesCommand } from './gen-types.ts'
import { UsageError } from '../server/usage-error.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
// The published package has JavaScript instead.
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

export function genCommand(): Command {
  return new Command('gen')
    .description(
      'write what derives from the kinds (CRDs, roles, modules of controllers), or the modules of these .cm files',
    )
    .argument('[files...]', 'documents of controllers; default: all that derives from the kinds in workflows/')
    .option('--check', 'change nothing; exit code 1 when something is stale')
    .option('--stdout', 'print the modules of the files, write none')
    .option('--ast', 'print what the files say as JSON, write nothing')
    .option('-o, --out <dir>', 'folder for the modules (default: beside their files)')
    .option('-p, --kit <specifier>', "from where the modules import the kit (default: this checkout's, else pawl/kit)")
    .option('-b, --boilerplate <file>', 'text for the top of each module, such as a licence')
    .option('--crd <file>', 'CustomResourceDefinitions of kinds of others, against which to check the files')
    .action(async (files: readonly string[], flags: GenFlags) => {
      process.exitCode = files.length === 0 ? await genAll(flags) : await genFiles(files, flags)
    })
    .enablePositionalOptions()
    .addHelpText('after', '\nExamples:\n  pawl gen --check\n  pawl gen shop.cm --crd cert-manager.yaml')
    .addCommand(genCrdCommand())
    .addCommand(genNewCommand(isCheckout && isBelow(ROOT, process.cwd()) ? ROOT : undefined))
    .addCommand(genRbacCommand())
    .addCommand(genTypesCommand())
}

async function genAll({ check, ...flags }: GenFlags): Promise<number> {
  const [other] = Object.keys(flags)
  if (other !== undefined) throw new UsageError(`found --${other} without files, expected at least one .cm file`)
  if (!isCheckout) throw new UsageError('found no checkout of Pawl and no files, expected at least one .cm file')
  const print = (line: string) => process.stdout.write(`${line}\n`)
  return await gen({ root: ROOT, check: check ?? false, print, complain })
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
