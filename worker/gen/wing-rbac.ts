// The rights of bridge and worker for a wing, from its folders: controllers, kinds, wing.ts.
//
//   B1. The bridge may list and watch the kinds that a controller watches, and has the rules of wing.ts.
//   B2. The worker has the `workerVerbs` of kinds, the rules of wing.ts, and the rights of controllers in level mode (level-rbac.ts).

import type {
  AccessRule,
  JobModeController,
  JsonValue,
  Kind,
  LevelDeclaration,
  WatchedKind,
  Wing,
} from '../../workflows/kit/index.ts'
import { type Place, type Right, rightsOf } from './level-rbac.ts'
import { fileURLToPath } from 'node:url'
import { type KindFolder, readKindFolders } from '../server/kind-folders.ts'
import { ENGINE_RULES } from './access-rules.ts'
import { type FoundControllers, readControllers } from './controller-index.ts'
import { type FoundWing, readWings } from './wing-index.ts'

/** The declarations of a wing. */
export interface WingParts {
  readonly kinds: readonly Kind[]
  readonly controllers: readonly (JobModeController | LevelDeclaration)[]
  /** The rules of wing.ts. */
  readonly workerRules: readonly AccessRule[]
  readonly bridgeRules?: readonly AccessRule[]
  readonly webhookRules?: readonly AccessRule[]
  readonly usualSettings?: JsonValue
}

export function rightsOfWing(parts: WingParts): readonly Right[] {
  const { kinds, controllers, workerRules, bridgeRules = [], usualSettings } = parts
  const rightsBy = (process: Right['process'], rules: readonly AccessRule[]) =>
    rules.map((rule): Right => ({ process, place: 'beside the target', rule }))
  const declaredRules = [...rightsBy('worker', workerRules), ...rightsBy('bridge', bridgeRules)]
  const declared = controllers.flatMap((one) =>
    'mode' in one ? one.watches.map(watchRight) : rightsOf(one, usualSettings),
  )
  return [...kinds.flatMap(workerRights), ...declaredRules, ...declared]
}

function watchRight(watched: WatchedKind): Right {
  const group = watched.apiVersion.includes('/') ? watched.apiVersion.replace(/\/.*$/, '') : ''
  const rule = { apiGroups: [group], resources: [watched.plural], verbs: ['list', 'watch'] }
  return { process: 'bridge', place: placeOf(watched), rule }
}

/** The rights of a kind's `workerVerbs`. */
function workerRights(kind: Kind): readonly Right[] {
  const { group, plural, statusSubresource, workerVerbs } = kind
  if (workerVerbs.length === 0) return []
  const right = (resource: string, verbs: readonly string[]): Right => {
    return { process: 'worker', place: placeOf(kind), rule: { apiGroups: [group], resources: [resource], verbs } }
  }
  const writesStatus = statusSubresource && workerVerbs.includes('patch')
  return [
    right(plural, workerVerbs),
    ...(writesStatus ? [right(`${plural}/status`, ['patch'])] : []),
    // The admission plugin OwnerReferencesPermissionEnforcement requires this right for owner references with blockOwnerDeletion.
    ...(writesStatus ? [right(`${plural}/finalizers`, ['update'])] : []),
  ]
}

function placeOf({ withoutNamespace }: WatchedKind): Place {
  return withoutNamespace === true ? 'anywhere' : 'beside the target'
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The declarations of all wings. */
export interface FoundParts {
  readonly folders: readonly KindFolder[]
  readonly controllers: readonly FoundControllers[]
  readonly wings: readonly FoundWing[]
}

/** @throws when a file does not have the expected exports. */
export async function readParts(root: string): Promise<FoundParts> {
  const [folders, wings] = [await readKindFolders(root), await readWings(root)]
  return { folders, wings, controllers: await readControllers(root, folders) }
}

/** The declarations by wing, ordered by name. */
export function partsByWing({ folders, controllers, wings }: FoundParts): ReadonlyMap<string, WingParts> {
  const names = [...new Set([...folders, ...wings].map(({ wing }) => wing))].sort()
  return new Map(
    names.map((name) => {
      const isOf = ({ wing }: { readonly wing: string }) => wing === name
      const {
        workerRules = [],
        bridgeRules = [],
        webhookRules = [],
        defaultSettings: usualSettings,
      }: Partial<Wing> = wings.find(isOf)?.declared?.value ?? {}
      const parts: WingParts = {
        kinds: folders.filter(isOf).flatMap(({ kinds }) => kinds),
        controllers: controllers.filter(isOf).flatMap(({ values }) => [...values.values()]),
        workerRules,
        bridgeRules,
        webhookRules,
        ...(usualSettings !== undefined && { usualSettings }),
      }
      return [name, parts]
    }),
  )
}

/**
 * The rights of bridge and worker for wings of Pawl, for roles other than those of `deploy/rbac/`.
 *
 * @param scope `namespaces` excludes controllers that a flag enables, because these read the whole cluster.
 * @throws when a wing is unknown.
 */
export async function wingRights(wings: readonly string[], scope: 'cluster' | 'namespaces'): Promise<readonly Right[]> {
  return [...engineRights(), ...rightsOfWings(await readParts(ROOT), wings, scope)]
}

/** The rights of workers with any controllers. */
export function engineRights(): readonly Right[] {
  return ENGINE_RULES.map((rule): Right => ({ process: 'worker', place: 'beside the target', rule }))
}

/** As `wingRights`, without the rights of the engine. */
export function rightsOfWings(
  found: FoundParts,
  wings: readonly string[],
  scope: 'cluster' | 'namespaces',
): readonly Right[] {
  const switched = found.wings.flatMap(({ declared }) => Object.keys(declared?.value.switches ?? {}))
  const off = new Set(scope === 'cluster' ? [] : switched)
  const known = partsByWing(found)
  return wings.flatMap((wing) => {
    const parts = known.get(wing)
    if (parts !== undefined)
      return rightsOfWing({ ...parts, controllers: parts.controllers.filter(({ name }) => !off.has(name)) })
    throw new Error(`unknown wing "${wing}"; expected ${[...known.keys()].join(' or ')}`)
  })
}
