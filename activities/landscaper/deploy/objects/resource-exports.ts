// `exports.exports[]` of a deploy item's configuration. Source: spec/landscaper.md 4.5.

import type { JsonPath } from './json-path.ts'
import { describe, FieldReader, type Fields, isMap } from './readiness/field-reader.ts'
import { readPath, readReference } from './readiness/readiness-config.ts'
import { describeObject, type ObjectReference, readObject, readReferred } from '../target/read-object.ts'
import type { PathResult } from '../../bounded/path-values.ts'
import { isLarger } from '../../bounded/cost-estimate.ts'
import type { DeployStep, ItemWork } from '../run/deployer.ts'
import { configurationProblem } from '../run/deploy-errors.ts'
import { inParallel } from '../../../kube/in-parallel.ts'
import type { TargetCluster } from '../target/target-cluster.ts'

export interface ResourceExport {
  /** `a.b.c` builds nested maps. */
  readonly key: string
  readonly path: JsonPath
  readonly pathText: string
  /** Absent: the path is evaluated on the values of a chart. */
  readonly from: ObjectReference | undefined
  /** If set, this path finds `{name, namespace}` of the object on which the path of the export is evaluated. */
  readonly objectRef:
    | { readonly apiVersion: string; readonly kind: string; readonly path: JsonPath; readonly pathText: string }
    | undefined
  /** Another Target of the item's namespace. */
  readonly targetName: string | undefined
}

/** Per item. */
export const MOST_EXPORTS = 500

/**
 * Parses `exports`, a map with the list `exports`; absent: none. Mistakes are added to `mistakes`; the result must not be used then.
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
  if (list.length > MOST_EXPORTS) {
    reader.refuse(`${field}.exports`, `${list.length} exports`, `at most ${MOST_EXPORTS}`)
    return []
  }
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
    reader.refuse(field, `${key.length} characters`, expected)
    return ''
  }
  if (key.split('.').length > MOST_PARTS) reader.refuse(field, `${key.split('.').length} parts`, expected)
  if (key.includes('..') || key.startsWith('.') || key.endsWith('.')) {
    reader.refuse(field, 'an empty part', 'a key such as a.b')
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
    reader.refuse(`${field}.fromResource`, 'nothing', 'a map, because fromObjectRef is set')
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

// Reads the exports of a deploy item (resource-exports.ts): values of objects of the target become the item's exports.
// Source: spec/landscaper.md 4.5.
//
//   X1. Objects may be Secrets: values go into the exports only; a missing value is reported by key, object and path.
//   X2. Values are unchanged: data of Secrets stay base64.
//   X3. Each object is read once and evaluated once, for any number of exports.

export interface ExportsInput {
  readonly work: Pick<ItemWork, 'target' | 'openTarget' | 'data' | 'signal'>
  readonly exports: readonly ResourceExport[]
  /** `manifest`, `helm`: named in the checkpoint. */
  readonly deployer: string
  /** The values of a chart, for exports without a resource. */
  readonly values?: unknown
}

const READS_AT_ONCE = 10
/** A Secret holds 1 MiB. */
const MOST_EXPORTED = { nodes: 250_000, characters: 1024 * 1024 }

/** Reads once. @returns `done` with all values, or `waiting` for the first missing one. @throws KubeError, DeployError */
export async function readExports({ work, exports, deployer, values }: ExportsInput): Promise<DeployStep> {
  const found = await readOthers(work, exports, await readNamed(work, exports, values))
  const lack = found.find((one) => 'missing' in one)
  if (lack !== undefined && 'missing' in lack) {
    const checkpoint = `${deployer} deployer: before reading export values`
    return { result: 'waiting', checkpoint, waitingFor: lack.missing }
  }
  const read = found.map((one) => ('value' in one ? one.value : undefined))
  if (isLarger(read, MOST_EXPORTED)) {
    const message = 'exports: found more than 1 MiB; expected less, because one Secret stores all exports'
    throw configurationProblem('ReadExports', 'InvalidConfiguration', message)
  }
  const nested = exports.map(({ key }, index) => nest(key, read[index]))
  return { result: 'done', exports: nested.reduce<Fields>((all, one) => merged(all, one) as Fields, {}) }
}

type Found = { readonly value: unknown } | { readonly missing: string }

/** The values of the objects that the exports name. */
async function readNamed(
  work: ExportsInput['work'],
  exports: readonly ResourceExport[],
  values: unknown,
): Promise<Found[]> {
  const lookups = exports.map(({ key, path, from, objectRef, targetName }): Lookup => {
    const what = from === undefined ? 'the values of the chart' : describeObject(from)
    return { where: `export "${key}": ${what}`, path: objectRef?.path ?? path, from, targetName }
  })
  return await lookUp(lookups, work, async ({ from, targetName }) => {
    if (from === undefined) return values
    return await readReferred(await targetOf(work, targetName), from, work.signal)
  })
}

/** Replaces values that refer to another object by the value of that object. */
async function readOthers(
  work: ExportsInput['work'],
  exports: readonly ResourceExport[],
  found: readonly Found[],
): Promise<readonly Found[]> {
  const referring = exports.map((one, index) => referenceIn(one, found[index]))
  const lookups = referring.flatMap((one) => (one !== undefined && 'path' in one ? [one] : []))
  const others = await lookUp(lookups, work, async ({ from, targetName }) => {
    return from === undefined ? undefined : await readObject(await targetOf(work, targetName), from, work.signal)
  })
  const byLookup = new Map(lookups.map((one, index) => [one, others[index]]))
  return referring.map((one, index): Found => {
    const other = one !== undefined && 'path' in one ? byLookup.get(one) : one
    return other ?? found[index] ?? { missing: '' }
  })
}

/** Undefined: the value itself is exported. */
function referenceIn(one: ResourceExport, found: Found | undefined): Lookup | { missing: string } | undefined {
  const { key, path, from, objectRef, targetName } = one
  if (objectRef === undefined || found === undefined || 'missing' in found) return undefined
  const { apiVersion, kind, pathText } = objectRef
  const { name, namespace } = (found.value ?? {}) as { name?: unknown; namespace?: unknown }
  if (typeof name !== 'string' || name === '') {
    return {
      missing: `export "${key}": ${pathText}: found ${describe(found.value)}; expected a map with name and namespace`,
    }
  }
  const at = typeof namespace === 'string' && namespace !== '' ? namespace : from?.namespace
  // The name comes from an object that may be a Secret, so the message does not have it.
  const where = `export "${key}": the ${kind} that ${pathText} names`
  return { where, path, from: { apiVersion, kind, name, namespace: at }, targetName }
}

interface Lookup {
  /** Description for messages. */
  readonly where: string
  readonly path: JsonPath
  readonly from: ObjectReference | undefined
  readonly targetName: string | undefined
}

/** Reads each object once, and evaluates all its paths in one call. */
async function lookUp(
  lookups: readonly Lookup[],
  { data }: ExportsInput['work'],
  read: (lookup: Lookup) => Promise<unknown>,
): Promise<Found[]> {
  const groups = new Map<string, number[]>()
  for (const [index, { from, targetName }] of lookups.entries()) {
    const key = JSON.stringify([targetName, from])
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [index])
    else group.push(index)
  }
  const found: Found[] = []
  await inParallel([...groups.values()], READS_AT_ONCE, async (indexes) => {
    const group = indexes.flatMap((index) => lookups[index] ?? [])
    const [first] = group
    const object = first === undefined ? undefined : await read(first)
    const isThere = first?.from === undefined || object !== undefined
    const values = isThere
      ? await data.values(
          object,
          group.map(({ path }) => path),
        )
      : []
    for (const [at, index] of indexes.entries()) {
      const { where = '', path } = group[at] ?? {}
      found[index] = isThere ? valueOf(values[at], where, path?.text ?? '') : { missing: `${where} does not exist` }
    }
  })
  return found
}

function valueOf(found: PathResult | undefined, where: string, pathText: string): Found {
  if (found === undefined || 'problem' in found) return { missing: `${where}: ${pathText} is ${found?.problem ?? ''}` }
  const { values } = found
  if (values.length === 0) return { missing: `${where}: ${pathText} has no value` }
  return { value: values.length === 1 ? values[0] : values }
}

async function targetOf(work: ExportsInput['work'], name: string | undefined): Promise<TargetCluster> {
  return name === undefined ? work.target : await work.openTarget(name)
}

function nest(key: string, value: unknown): Fields {
  return key.split('.').reduceRight<unknown>((inner, part) => Object.fromEntries([[part, inner]]), value) as Fields
}

// Merges maps; for other types the later value wins. Object.fromEntries handles a key `__proto__` as a plain key.
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
