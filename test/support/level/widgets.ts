// Widgets, as tests of level mode make them and look at them: over the API server, and in the journal.

import { sql } from 'kysely'
import { expect, vi } from 'vitest'

import type { KubeObject } from '../../../activities/kube/client.ts'
import type { Stage } from '../pawl/stage.ts'
import { CONFIG_MAPS, objectsOf, type Resource, WAIT } from './objects.ts'
import { widgetKind } from './widget.ts'

interface Journaled {
  /** The journal has this version of the object, or knows that it is gone. */
  readonly known: boolean
  /** The controllers that are to look at it. */
  readonly wakes: readonly string[]
  readonly runs: readonly { readonly controller: string; readonly outcome: string | null }[]
}

export function managersOf(object: KubeObject | undefined): string[] {
  const { managedFields = [] } = (object?.metadata ?? {}) as { managedFields?: { manager: string }[] }
  return [...new Set(managedFields.map(({ manager }) => manager))].sort()
}

export function uidOf({ metadata }: KubeObject): string {
  return metadata.uid ?? ''
}

/** Helpers for widgets in the namespace of a stage. */
export function widgetsOf(stage: Stage) {
  const { create: createObject, install, request, patch, get } = objectsOf(stage)
  const create = async (name: string, spec: object) => await createObject(widgetKind, name, spec)

  async function createConfigMap(name: string, data: object, labels: object = {}, ownerReferences: unknown = []) {
    await request('POST', CONFIG_MAPS, undefined, { metadata: { name, labels, ownerReferences }, data })
  }

  async function until(
    resource: Resource,
    name: string,
    look: (object: KubeObject) => unknown,
    wanted: unknown,
  ): Promise<void> {
    await vi.waitFor(async () => {
      const object = await get(resource, name)
      expect(object?.['status'] === undefined && resource === widgetKind ? undefined : object && look(object)).toEqual(
        wanted,
      )
    }, WAIT)
  }

  /** Waits until nothing is open of an object; how the last runs of its controllers ended. */
  async function converged(object: KubeObject): Promise<string[]> {
    const look = async () => (await get(widgetKind, object.metadata.name)) ?? object
    return await vi.waitFor(async () => {
      const current = await look()
      const { known, wakes, runs } = await journaled(current)
      const open = runs.filter(({ outcome }) => outcome === null)
      // A run may end between two polls. Its writes are then not in the journal yet, and wake the other controller.
      expect((await look()).metadata.resourceVersion).toBe(current.metadata.resourceVersion)
      expect({ known, wakes, open, runs: runs.length }).toEqual({ known: true, wakes: [], open: [], runs: 2 })
      return runs.map(({ controller, outcome }) => `${controller} ${outcome ?? 'open'}`)
    }, WAIT)
  }

  /** The rows of an object. One statement reads them, because between two a wake may become a run. */
  async function journaled(object: KubeObject): Promise<Journaled> {
    const uid = uidOf(object)
    const version = Number(object.metadata.resourceVersion)
    const { rows } = await sql<Journaled>`select
      exists (select from object where uid = ${uid} and (resource_version >= ${version} or deleted)) as known,
      (select coalesce(json_agg(controller), '[]') from wake where uid = ${uid}) as wakes,
      (select coalesce(json_agg(json_build_object('controller', controller, 'outcome', outcome) order by controller), '[]')
        from job where uid = ${uid}) as runs`.execute(stage.pawl.db)
    return rows[0]!
  }

  async function run(controller: string, object: KubeObject) {
    return await stage.pawl.db
      .selectFrom('job')
      .selectAll()
      .where('controller', '=', controller)
      .where('uid', '=', uidOf(object))
      .executeTakeFirstOrThrow()
  }

  async function versions(name: string) {
    const objects = await Promise.all([get(widgetKind, name), get(CONFIG_MAPS, name)])
    return objects.map((object) => object?.metadata.resourceVersion)
  }

  return {
    request,
    patch,
    get,
    create,
    createConfigMap,
    until,
    converged,
    run,
    versions,
    installWidgets: () => install(widgetKind),
  }
}
