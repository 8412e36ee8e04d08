// Loads the users' controllers from the modules of `--controllers`. Each module exports a list `controllers` of values of `defineLevel`.

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

import type { OwnFunctions } from '../../activities/index.ts'
import type { LevelController, LevelDeclaration } from '../../workflows/kit/index.ts'

/** The absolute paths in the flag `--controllers`, which separates them by commas. @throws with the path if a file does not exist. */
export function controllerFiles(text: string | undefined): readonly string[] {
  const files = (text ?? '').split(',').map((file) => file.trim())
  const paths = [...new Set(files.filter((file) => file !== '').map((file) => resolve(file)))]
  const missing = paths.find((path) => !existsSync(path))
  if (missing !== undefined) throw new Error(`--controllers: ${missing} does not exist; expected an existing file`)
  return paths
}

/** @throws with the file, the actual and the expected export; also with each place that uses an API which the workflow sandbox lacks. */
export async function loadControllers(files: readonly string[]): Promise<readonly LevelController[]> {
  const loaded = await Promise.all(files.map(async (file) => controllersOf(file, await load(file))))
  if (files.length === 0) return []
  // Loads a parser, which processes without such controllers do not need.
  const { sandboxProblems } = await import('./sandbox-check.ts')
  const problems = sandboxProblems(files)
  if (problems.length > 0)
    throw new Error(`--controllers: this code cannot run in the workflow sandbox\n${problems.join('\n')}`)
  return loaded.flat()
}

async function load(file: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`--controllers ${file}: cannot load the module: ${message}${hintFor(message)}`, { cause })
  }
}

// Node's errors for a file that it does not load as an ES module. They name neither the file nor the fix.
const NOT_AN_ES_MODULE = /outside a module|Unexpected token 'export'/

function hintFor(message: string): string {
  return NOT_AN_ES_MODULE.test(message) ? '; add `"type": "module"` to its package.json' : ''
}

function controllersOf(file: string, { controllers }: Readonly<Record<string, unknown>>): readonly LevelController[] {
  const valid = Array.isArray(controllers) ? controllers.filter(isController) : []
  if (Array.isArray(controllers) && valid.length === controllers.length && valid.length > 0) return valid
  const actual = controllers === undefined ? 'nothing' : 'something else'
  throw new Error(`--controllers ${file}: \`controllers\`: found ${actual}; export a list of values of defineLevel`)
}

/** The kit may be another copy, so `instanceof` would fail. */
function isController(value: unknown): value is LevelController {
  if (typeof value !== 'object' || value === null) return false
  const { name, target, queries, plan, plurals } = value as Partial<Record<keyof LevelController, unknown>>
  return typeof name === 'string' && [target, queries, plan, plurals].every((part) => typeof part === 'object')
}

// The modules of controllers' own activities. Only the worker loads them, so the bridge does not need their packages.

/**
 * The activity modules by controller name.
 *
 * @throws with the controller, the actual and the expected value: for a module that cannot be loaded, or whose exports differ from the declaration.
 */
export async function loadOwnActivities(
  controllers: readonly LevelDeclaration[],
): Promise<ReadonlyMap<string, OwnFunctions>> {
  const loaded = controllers.flatMap(({ name, activities }) =>
    activities === undefined ? [] : [loadActivities(name, activities).then((module) => [name, module] as const)],
  )
  return new Map(await Promise.all(loaded))
}

async function loadActivities(
  controller: string,
  { load: importModule, options }: NonNullable<LevelDeclaration['activities']>,
): Promise<OwnFunctions> {
  const module = await importModule().catch((cause: unknown) => {
    const message = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`controller ${controller}: cannot load its activities: ${message}`, { cause })
  })
  const exported = new Map<string, unknown>(Object.entries(module))
  const missing = Object.keys(options).filter((name) => typeof exported.get(name) !== 'function')
  const undeclared = [...exported].filter(([name, value]) => isAsync(value) && !Object.hasOwn(options, name))
  if (missing.length === 0 && undeclared.length === 0) return module as OwnFunctions
  const differences = [
    ...missing.map((name) => `${name} is declared but not exported`),
    ...undeclared.map(([name]) => `${name} is exported but not declared`),
  ]
  throw new Error(
    `controller ${controller}: activities: ${differences.join(', ')}; declare each exported activity in activitiesOf`,
  )
}

/** Only `async` functions must be declared: another function may return a promise too, but may also be a helper that is not an activity. */
function isAsync(value: unknown): boolean {
  return typeof value === 'function' && value.constructor.name === 'AsyncFunction'
}
