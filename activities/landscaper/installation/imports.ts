// Reads the imports of an Installation, each object once, and hashes them. The values never leave the activity. Source: spec/landscaper.md 2.3 "Init"
// 4 and 5, 3.10, appendix B 9.

import { type Installation, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import { createHash, createHmac } from 'node:crypto'
import { canonicalJson, nearest, type WatchedKind, shortenList } from '../../../workflows/kit/index.ts'
import { type Target, targetKind } from '../../../workflows/landscaper/target/kind.ts'
import type { LandscaperDeps } from '../deps.ts'
import type { KubeObject } from '../../kube/client.ts'
import { PARALLEL_READS, labelValue } from '../data-objects.ts'
import { finalFailure } from '../../kube/errors.ts'
import { listFromServer, listObjects, readObject } from '../../kube/read-family.ts'
import { entriesOf, secretResource } from '../../kube/core-kinds.ts'
import { type StoredAs, storedAs } from '../../kube/object-views.ts'
import { inParallel } from '../../kube/in-parallel.ts'
import { type LoadedImports, type TargetObject, constructImports, type ConstructedImports } from '../render/imports.ts'
import { unwrapTargets, mapTargets, targetsIn } from '../render/deploy-items.ts'
import {
  type DataSource,
  type ElementsOf,
  importSources,
  isObjectName,
  type TargetNames,
  type TargetSource,
} from './import-sources.ts'
import { type Parent, parentOf } from './parent.ts'
import { isDetached } from './import-copies.ts'
import { isOnlyOwnedBy } from '../../kube/owners.ts'
import { installationContext, surroundingContext } from '../render/names.ts'
import {
  CONTEXT_LABEL,
  INDEX_LABEL,
  KEY_LABEL,
  SOURCE_TYPE_LABEL,
  TARGET_MAP_KEY_LABEL,
} from '../../../workflows/landscaper/contract.ts'
import { importedValue } from './imported-value.ts'
import type { Blueprint } from '../render/blueprint/blueprint.ts'

export interface HashedImports extends LoadedImports {
  /** The number of imports in the spec. */
  readonly count: number
  /** The hash of all values and of the Secrets of Targets: 40 hexadecimal digits. */
  readonly hash: string
}

const MAX_PROBLEMS = 20

/**
 * Reads every import of an Installation.
 *
 * @throws final failures: `ERR_CONFIGURATION_PROBLEM` for a malformed import, `ImportNotFound` for a missing object or key.
 */
export async function loadImports(deps: LandscaperDeps, installation: Installation): Promise<HashedImports> {
  const { namespace } = installation.metadata
  const parent = parentOf(installation)
  const sources = importSources(installation.spec, surroundingContext(parent?.name))
  const objects = createReader(deps, namespace)
  const targetNames = await resolveTargetNames(deps, namespace, parent, sources.targets)
  await objects.read([
    ...sources.data.map(({ watched, object }) => ({ watched, name: object })),
    ...targetNames.flatMap(({ names }) => targetsIn(names).map((name) => ({ watched: targetKind, name }))),
  ])
  const missing: string[] = []
  const problems: string[] = []
  const data: (readonly [string, unknown])[] = []
  for (const source of sources.data) {
    data.push([source.name, await valueOf(deps, source, objects, { missing, problems })])
  }
  const isAbsent = (target: string) => !isImportable(objects.get(targetKind, target))
  const others = targetNames.some(({ names }) => targetsIn(names).some(isAbsent))
    ? await rootTargets(deps, namespace)
    : []
  const targets = targetNames.map(({ name, place, names }) => {
    const absent = targetsIn(names).filter(isAbsent)
    missing.push(
      ...absent.map((target) => {
        const meant = nearest(target, others)
        const advice = meant === undefined ? 'create it' : `did you mean "${meant}"?`
        return `${place}: ${objects.describe(targetKind, target)} does not exist; ${advice}`
      }),
    )
    return [name, absent.length > 0 ? undefined : mapTargets(names, (target) => targetOf(objects, target))] as const
  })
  if (missing.length > 0) throw finalFailure('ImportNotFound', summary(missing))
  if (problems.length > 0) throw finalFailure('ERR_CONFIGURATION_PROBLEM', summary(problems))
  const loaded = {
    data: Object.fromEntries(data),
    targets: Object.fromEntries(targets.flatMap(([name, found]) => (found === undefined ? [] : [[name, found]]))),
  }
  const count = data.length + targets.length
  return { ...loaded, count, hash: await importsHash(deps, objects, loaded) }
}

interface NamedTargets extends TargetSource {
  readonly names: TargetNames
}

async function resolveTargetNames(
  deps: LandscaperDeps,
  namespace: string,
  parent: Parent | undefined,
  sources: readonly TargetSource[],
): Promise<readonly NamedTargets[]> {
  return await inParallel(sources, PARALLEL_READS, async ({ name, place, names }) => {
    if (!('elementsOf' in names)) return { name, place, names }
    if (parent === undefined) throw new Error(`${place} names elements of a parent; this installation has none`)
    return { name, place, names: await elementsOf(deps, namespace, parent, names) }
  })
}

/** The names of the Targets that a root Installation can import: all without a context. For messages. */
async function rootTargets(deps: LandscaperDeps, namespace: string): Promise<readonly string[]> {
  const found = await listFromServer(deps, targetKind, namespace, `!${CONTEXT_LABEL}`)
  return found.map(({ metadata }) => metadata.name)
}

function isImportable(target: Target | undefined): boolean {
  return target !== undefined && !isDetached(target)
}

// The parent's copies. The parent removes copies of dropped elements before its sub-installations start.
async function elementsOf(
  deps: LandscaperDeps,
  namespace: string,
  parent: Parent,
  { elementsOf: key, as }: ElementsOf,
): Promise<TargetNames> {
  const labels = { [CONTEXT_LABEL]: installationContext(parent.name), [KEY_LABEL]: key, [SOURCE_TYPE_LABEL]: 'import' }
  const labelSelector = Object.entries(labels)
    .map(([label, value]) => `${label}=${labelValue(value)}`)
    .join(',')
  const found = await listObjects(deps, targetKind, namespace, { labelSelector })
  const own = found.filter((one) => isOnlyOwnedBy(one, installationKind, { ...parent, namespace }))
  const elements = own.flatMap(({ metadata: { name, labels = {} } }) => {
    const element = labels[as === 'list' ? INDEX_LABEL : TARGET_MAP_KEY_LABEL]
    return element === undefined ? [] : [[element, name] as const]
  })
  if (as === 'map') return { map: Object.fromEntries(elements) }
  return { list: elements.sort(([left], [right]) => Number(left) - Number(right)).map(([, name]) => name) }
}

async function valueOf(
  deps: LandscaperDeps,
  source: DataSource,
  objects: ObjectReader,
  { missing, problems }: { missing: string[]; problems: string[] },
): Promise<unknown> {
  const { place, watched, object: name } = source
  const what = objects.describe(watched, name)
  const object = objects.get(watched, name)
  if (object === undefined) {
    missing.push(`${place}: ${what} does not exist; create it`)
    return undefined
  }
  const imported = await importedValue(deps.landscaper.templates.data, source, object)
  if ('value' in imported) return imported.value
  if ('missing' in imported) missing.push(`${place}: ${what} has no ${imported.missing}; add it`)
  else problems.push(`${place}: ${what}: ${imported.problem}`)
  return undefined
}

// Any write to the Target changes these fields, so they would change the rendered items for no reason.
const VOLATILE_METADATA = new Set(['managedFields', 'resourceVersion'])

function targetOf(objects: ObjectReader, name: string): TargetObject {
  const target = objects.get(targetKind, name)
  if (target === undefined) throw new Error(`${objects.describe(targetKind, name)} was not read`)
  return targetObject(target)
}

/** The Target as templates see it. */
export function targetObject({ apiVersion, kind, metadata, spec }: Target): TargetObject {
  const stableMetadata = Object.entries(metadata).filter(([key]) => !VOLATILE_METADATA.has(key))
  return { apiVersion, kind, metadata: { ...Object.fromEntries(stableMetadata), name: metadata.name }, spec }
}

type SecretReference = NonNullable<Target['spec']['secretRef']>

async function importsHash(
  deps: LandscaperDeps,
  objects: ObjectReader,
  { data, targets }: LoadedImports,
): Promise<string> {
  const all = Object.values(targets).flatMap(targetsIn)
  const references = all.flatMap(({ spec }) => spec.secretRef ?? [])
  const names = references.map(({ name }) => name).filter(isObjectName)
  await objects.read(names.map((name) => ({ watched: secretResource, name })))
  const secretOf = ({ name, key }: SecretReference): unknown => {
    const secret = objects.get(secretResource, name)
    const entries = secret && entriesOf(secret)
    return (key === undefined ? entries : entries?.[key]) ?? null
  }
  const hashed = ({ metadata, spec }: TargetObject): unknown => {
    const { secretRef } = spec
    return { name: metadata.name, spec, ...(secretRef !== undefined && { secret: secretOf(secretRef) }) }
  }
  const content = canonicalJson({
    data,
    targets: Object.fromEntries(
      Object.entries(targets).map(([name, one]) => [name, unwrapTargets(mapTargets(one, hashed))]),
    ),
  })
  // A keyed hash, so that readers of the status cannot guess a short Secret.
  const hash = deps.contentKey === undefined ? createHash('sha1') : createHmac('sha1', deps.contentKey)
  return hash.update(content).digest('hex')
}

interface ObjectReader {
  /** Reads the objects that were not read yet. */
  read(wanted: readonly { readonly watched: WatchedKind; readonly name: string }[]): Promise<void>
  /** Undefined if the object does not exist. */
  get<Watched extends WatchedKind>(watched: Watched, name: string): StoredAs<Watched> | undefined
  describe(watched: WatchedKind, name: string): string
}

function createReader(deps: LandscaperDeps, namespace: string): ObjectReader {
  const known = new Map<string, KubeObject | undefined>()
  const keyOf = (watched: WatchedKind, name: string) => `${watched.kind}/${name}`
  return {
    async read(wanted) {
      const unread = new Map(wanted.map((one) => [keyOf(one.watched, one.name), one]))
      const tasks = [...unread].filter(([key]) => !known.has(key))
      await inParallel(tasks, PARALLEL_READS, async ([key, { watched, name }]) => {
        known.set(key, await readObject(deps, watched, namespace, name))
      })
    },
    get(watched, name) {
      const object = known.get(keyOf(watched, name))
      return object && storedAs(watched, object)
    },
    describe: ({ kind }, name) => `${kind} "${namespace}/${name}"`,
  }
}

function summary(problems: readonly string[]): string {
  return shortenList(problems, MAX_PROBLEMS).join('; ')
}

// Builds the imports of an Installation for its blueprint. Runs in the phases Init and Completing. Source: spec/landscaper.md 2.3 "Init" 4-6 and
// "Completing" 2.

export interface InstallationImports extends ConstructedImports {
  /** For `status.importsHash`; undefined when nothing is imported, neither from objects nor by mapping or default. */
  readonly hash: string | undefined
}

/** @throws as `loadImports` and `constructImports`. */
export async function loadAndBuildImports(
  deps: LandscaperDeps,
  installation: Installation,
  blueprint: Blueprint,
): Promise<InstallationImports> {
  return await buildImports(deps, installation, blueprint, await loadImports(deps, installation))
}

/** Maps, completes and validates loaded imports. @throws BlueprintError */
export async function buildImports(
  deps: LandscaperDeps,
  installation: Installation,
  blueprint: Blueprint,
  given: HashedImports,
): Promise<InstallationImports> {
  const spec = installation.spec
  const constructed = await constructImports(deps.landscaper.templates, blueprint, {
    blueprintSpec: spec.blueprint,
    loaded: given,
    mappings: spec.importDataMappings ?? {},
  })
  const isEmpty = Object.keys(constructed.data).length + Object.keys(constructed.targetObjects).length === 0
  return { ...constructed, hash: given.count === 0 && isEmpty ? undefined : given.hash }
}
