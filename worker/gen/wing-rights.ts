// The wings as their folders have them, in a checkout and in the published package alike, and the rights of those that Pawl ships.

import { fileURLToPath } from 'node:url'

import type { Wing } from '../../workflows/kit/index.ts'
import { type KindFolder, readKindFolders } from '../server/kind-folders.ts'
import { ENGINE_RULES } from './access-rules.ts'
import { type FoundControllers, readControllers } from './controller-index.ts'
import type { Right } from './level-rbac.ts'
import { type FoundWing, readWings } from './wing-index.ts'
import { rightsOfWing, type WingParts } from './wing-rbac.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** What stands in the folders of all wings. */
export interface FoundParts {
  readonly folders: readonly KindFolder[]
  readonly controllers: readonly FoundControllers[]
  readonly wings: readonly FoundWing[]
}

/** @throws with the file that does not export what it should. */
export async function readParts(root: string): Promise<FoundParts> {
  const [folders, wings] = [await readKindFolders(root), await readWings(root)]
  return { folders, wings, controllers: await readControllers(root, folders) }
}

/** The same by wing, ordered by name. */
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
      }: Partial<Wing> = wings.find(isOf)?.said?.value ?? {}
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
 * What bridge and worker need for wings that Pawl ships, beside what they work on; for other roles than those of `deploy/rbac/`.
 *
 * @param scope in some namespaces there are no controllers that a flag switches on: they look at the whole cluster.
 * @throws a plain Error that names a wing which is none, and those there are.
 */
export async function wingRights(wings: readonly string[], scope: 'cluster' | 'namespaces'): Promise<readonly Right[]> {
  const found = await readParts(ROOT)
  const switched = found.wings.flatMap(({ said }) => Object.keys(said?.value.switches ?? {}))
  const off = new Set(scope === 'cluster' ? [] : switched)
  const known = partsByWing(found)
  const engine = ENGINE_RULES.map((rule): Right => ({ process: 'worker', place: 'beside the target', rule }))
  const rights = wings.flatMap((wing) => {
    const parts = known.get(wing)
    if (parts !== undefined)
      return rightsOfWing({ ...parts, controllers: parts.controllers.filter(({ name }) => !off.has(name)) })
    throw new Error(`no wing is called "${wing}", expected ${[...known.keys()].join(' or ')}`)
  })
  return [...engine, ...rights]
}
