// Reads the values of the chart: values.yaml, overridden by the files of `--values` and the flags `--set` in their
// order, as Helm does it.
//
//   V1. Maps are merged; any other value replaces the default. null removes a default.
//   V2. The result fulfils values.schema.json.

import { readFile } from 'node:fs/promises'

import { FILE_LIMITS, readYaml, YamlError } from '../../../activities/yaml/read-yaml.ts'
import { UsageError } from '../../server/usage-error.ts'
import { type Assignment, parseAssignments, type Step } from './set-values.ts'
import { valueProblems } from './value-problems.ts'

const CHART = new URL('../../../deploy/chart/', import.meta.url)

type Values = Readonly<Record<string, unknown>>

export interface GivenValues {
  /** Paths of files, the last one has precedence. */
  readonly files: readonly string[]
  /** Flags `--set`, which have precedence over files. */
  readonly sets: readonly string[]
}

/** The values for the templates. @throws UsageError that names each wrong value, the value found and the value expected. */
export async function chartValues({ files, sets }: GivenValues): Promise<Values> {
  const defaults = readYaml(await readFile(new URL('values.yaml', CHART), 'utf8')) as Values
  let given: Values = {}
  for (const file of files) given = merge(given, await readValuesFile(file))
  for (const one of sets.flatMap(parseAssignments)) given = assign(given, one)
  const values = override(defaults, given)
  const schema: unknown = JSON.parse(await readFile(new URL('values.schema.json', CHART), 'utf8'))
  const problems = await valueProblems(schema as object, values)
  if (problems.length > 0) throw new UsageError(problems.join('\n'))
  return values
}

async function readValuesFile(path: string): Promise<Values> {
  try {
    const values = readYaml(await readFile(path, 'utf8'), { limits: FILE_LIMITS, strict: true }) ?? {}
    if (isMap(values)) return values
    throw new UsageError(
      `--values ${path}: found ${Array.isArray(values) ? 'a list' : 'a single value'}; expected a map`,
    )
  } catch (error) {
    if (error instanceof YamlError)
      throw new UsageError(`--values ${path}: line ${error.line}: ${error.reason}; expected YAML`, { cause: error })
    if (error instanceof Error && 'code' in error)
      throw new UsageError(`--values ${path}: cannot read the file (${String(error.code)})`, { cause: error })
    throw error
  }
}

function merge(below: Values, above: Values): Values {
  const merged = Object.entries(above).map(([name, value]) => {
    const before = own(below, name)
    return [name, isMap(before) && isMap(value) ? merge(before, value) : value] as const
  })
  return { ...below, ...Object.fromEntries(merged) }
}

function assign(values: Values, { path, value }: Assignment): Values {
  return withValue(values, path, value) as Values
}

/** A copy of `target` with the value at the path. Missing maps and lists are created; missing items of a list are null. */
function withValue(target: unknown, [step, ...rest]: readonly Step[], value: unknown): unknown {
  if (step === undefined) return value
  if (typeof step === 'string') {
    const map = isMap(target) ? target : {}
    return { ...map, [step]: withValue(own(map, step), rest, value) }
  }
  const items: readonly unknown[] = Array.isArray(target) ? target : []
  const length = Math.max(items.length, step + 1)
  return Array.from({ length }, (_, at) => (at === step ? withValue(items[at], rest, value) : (items[at] ?? null)))
}

/** The defaults with the given values; a given null removes its default (V1). */
function override(defaults: Values, given: Values): Values {
  const entries = Object.entries(merge(defaults, given)).flatMap(([name, value]) => {
    const [before, above] = [own(defaults, name), own(given, name)]
    if (above === null && before !== undefined) return []
    return [[name, isMap(before) && isMap(above) ? override(before, above) : value] as const]
  })
  return Object.fromEntries(entries)
}

function own(values: Values, name: string): unknown {
  return Object.hasOwn(values, name) ? values[name] : undefined
}

function isMap(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
