// `exports.exports[]` of a deploy item's configuration: values of objects of the target become the item's exports.
// Source: spec/landscaper.md 4.5.
//
//   X1. Objects may be Secrets: values go into the exports and nowhere else; what is missing is told by key, object and path.
//   X2. Values are as the object has them: data of Secrets stay base64.

import type { DeployStep, ItemWork } from '../run/deployer.ts'
import { inParallel } from '../../../kube/in-parallel.ts'
import { type JsonPath, JsonPathError } from './json-path.ts'
import { describe, FieldReader, type Fields, isMap } from './readiness/field-reader.ts'
import { readPath, readReference } from './readiness/readiness-config.ts'
import { describeObject, type ObjectReference, readObject, readReferred } from '../target/read-object.ts'
import type { TargetCluster } from '../target/target-cluster.ts'

export interface ResourceExport {
  /** `a.b.c` builds nested maps. */
  readonly key: string
  readonly path: JsonPath
  readonly pathText: string
  /** Absent: the path is followed in the values of a chart. */
  readonly from: ObjectReference | undefined
  /** The path then leads to `{name, namespace}` of the object that is read, by the path of the export. */
  readonly objectRef:
    | { readonly apiVersion: string; readonly kind: string; readonly path: JsonPath; readonly pathText: string }
    | undefined
  /** Another Target of the item's namespace. */
  readonly targetName: string | undefined
}

/**
 * Reads `exports`, a map with the list `exports`; absent = none. What is wrong is added to `mistakes`; then the result is not to be used.
 *
 * @param hasValues whether exports without `fromResource` are allowed: they read the values of a chart.
 */
export function readExportsConfig(
  value: unknown,
  field: string,
  { mistakes, hasValues }: { mistakes: string[]; hasValues: boolean },
): ResourceExport[] {
  const reader = new FieldReader(mistakes)
  const list = reader.list(reader.map(value, field)?.['exports'], `${field}.exports`)
  return list.flatMap((one, index) => {
    const at = `${field}.exports[${index}]`
    const entry = reader.requiredMap(one, at)
    if (entry === undefined) return []
    const key = readKey(reader, entry['key'], `${at}.key`)
    return readEntry(reader, { entry, key, field: at, hasValues })
  })
}

// Each part is a map in a map.
const LONGEST_KEY = 253
const MOST_PARTS = 20

function readKey(reader: FieldReader, value: unknown, field: string): string {
  const key = reader.text(value, field)
  const expected = `at most ${LONGEST_KEY} characters and ${MOST_PARTS} parts`
  if (key.length > LONGEST_KEY) {
    reader.refuse(field, `a text of ${key.length} characters`, expected)
    return ''
  }
  if (key.split('.').length > MOST_PARTS) reader.refuse(field, `a text of ${key.split('.').length} parts`, expected)
  if (key.includes('..') || key.startsWith('.') || key.endsWith('.')) {
    reader.refuse(field, 'a text with an empty part', 'a key such as a.b')
  }
  return key
}

interface Entry {
  readonly entry: Fields
  readonly key: string
  readonly field: string
  readonly hasValues: boolean
}

function readEntry(reader: FieldReader, { entry, key, field, hasValues }: Entry): ResourceExport[] {
  const path = readPath(reader, entry['jsonPath'], `${field}.jsonPath`)
  const source = entry['fromResource']
  const isOfValues = hasValues && (source === undefined || source === null)
  const from = isOfValues ? undefined : readReference(reader, source, `${field}.fromResource`)
  const objectRef = readObjectRef(reader, entry['fromObjectRef'], `${field}.fromObjectRef`)
  if (isOfValues && objectRef !== undefined)
    reader.refuse(`${field}.fromResource`, 'absent', 'a map, because fromObjectRef is set')
  const targetName = reader.optionalText(entry['targetName'], `${field}.targetName`)
  if (path === undefined) return []
  return [{ key, path, pathText: entry['jsonPath'] as string, from, objectRef, targetName }]
}

function readObjectRef(reader: FieldReader, value: unknown, field: string): ResourceExport['objectRef'] {
  const reference = reader.map(value, field)
  if (reference === undefined) return undefined
  const path = readPath(reader, reference['jsonPath'], `${field}.jsonPath`)
  const apiVersion = reader.text(reference['apiVersion'], `${field}.apiVersion`)
  const kind = reader.text(reference['kind'], `${field}.kind`)
  return path === undefined ? undefined : { apiVersion, kind, path, pathText: reference['jsonPath'] as string }
}

export interface ExportsInput {
  readonly work: Pick<ItemWork, 'target' | 'openTarget' | 'signal'>
  readonly exports: readonly ResourceExport[]
  /** `manifest`, `helm`: named in the checkpoint. */
  readonly deployer: string
  /** Of a chart, for exports without a resource. */
  readonly values?: unknown
}

const READS_AT_ONCE = 10

/** One look. @returns `done` with all values, or `waiting` for the first that is missing. @throws KubeError, DeployError */
export async function readExports({ work, exports, deployer, values }: ExportsInput): Promise<DeployStep> {
  const found = await inParallel(exports, READS_AT_ONCE, async (one) => {
    const target = one.targetName === undefined ? work.target : await work.openTarget(one.targetName)
    return await readExport(one, { target, values, signal: work.signal })
  })
  const lack = found.find((one) => 'missing' in one)
  if (lack !== undefined && 'missing' in lack) {
    const checkpoint = `${deployer} deployer: before reading export values`
    return { result: 'waiting', checkpoint, waitingFor: lack.missing }
  }
  const nested = found.map((one, index) => nest(exports[index]?.key ?? '', 'value' in one ? one.value : undefined))
  return { result: 'done', exports: nested.reduce<Fields>((all, one) => merged(all, one) as Fields, {}) }
}

type Found = { readonly value: unknown } | { readonly missing: string }

interface Source {
  readonly target: TargetCluster
  readonly values: unknown
  readonly signal: AbortSignal
}

async function readExport(one: ResourceExport, source: Source): Promise<Found> {
  const { key, from, objectRef } = one
  if (from === undefined) return valueAt(one, source.values, `export ${key}: the values of the chart`)
  const referring = await readReferred(source.target, from, source.signal)
  if (referring === undefined) return { missing: `export ${key}: ${describeObject(from)} is not there` }
  const where = `export ${key}: ${describeObject(from)}`
  if (objectRef === undefined) return valueAt(one, referring, where)
  const reference = valueAt(objectRef, referring, where)
  if ('missing' in reference) return reference
  return await readOther(one, reference.value, source)
}

async function readOther(one: ResourceExport, value: unknown, source: Source): Promise<Found> {
  const { apiVersion = '', kind = '', pathText = '' } = one.objectRef ?? {}
  const { name, namespace } = (value ?? {}) as { name?: unknown; namespace?: unknown }
  if (typeof name !== 'string' || name === '') {
    return { missing: `export ${one.key}: ${pathText} is ${describe(value)}; expected a map with name and namespace` }
  }
  const at = typeof namespace === 'string' && namespace !== '' ? namespace : one.from?.namespace
  const reference = { apiVersion, kind, name, namespace: at }
  const object = await readObject(source.target, reference, source.signal)
  // The name comes out of an object, which may be a Secret.
  const where = `export ${one.key}: the ${kind} that ${pathText} refers to`
  return object === undefined ? { missing: `${where} is not there` } : valueAt(one, object, where)
}

function valueAt({ path, pathText }: { path: JsonPath; pathText: string }, object: unknown, where: string): Found {
  try {
    const values = path.valuesIn(object)
    if (values.length === 0) return { missing: `${where}: ${pathText} is not there` }
    return { value: values.length === 1 ? values[0] : values }
  } catch (error) {
    if (error instanceof JsonPathError) return { missing: `${where}: ${pathText} is ${error.message}` }
    throw error
  }
}

function nest(key: string, value: unknown): Fields {
  return key.split('.').reduceRight<unknown>((inner, part) => Object.fromEntries([[part, inner]]), value) as Fields
}

// Maps become one, anything else is what came last. Object.fromEntries takes a key `__proto__` for a key.
function merged(earlier: unknown, later: unknown): unknown {
  if (!isMap(earlier) || !isMap(later)) return later
  const names = new Set([...Object.keys(earlier), ...Object.keys(later)])
  return Object.fromEntries(
    [...names].map((name) => {
      if (!Object.hasOwn(later, name)) return [name, earlier[name]]
      return [name, Object.hasOwn(earlier, name) ? merged(earlier[name], later[name]) : later[name]]
    }),
  )
}
