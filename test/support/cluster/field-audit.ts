// Compares the fields that each writer changes in a live cluster with the declarations of controllers: managed fields of each version of each object, and the
// changes of each write of Pawl, also deletions of fields. Source: seeds/chaos-mesh-controller-rules.txt "One controller per field".

import type { Kysely } from 'kysely'

import type { Database } from '../../../activities/journal/database.ts'
import type { KubeObject } from '../../../activities/kube/client.ts'
import type { OwnedFields } from '../../../workflows/kit/index.ts'
import { changedFields, fieldText, heldFields, isBelow, isDeclared } from './owned-fields.ts'
import type { VersionWatch } from './version-watch.ts'

interface Change {
  readonly object: KubeObject
  readonly at: readonly string[]
  readonly managers: readonly string[]
}

export class FieldsAudit {
  readonly #owners: readonly OwnedFields[]
  readonly #watches: readonly VersionWatch[]
  readonly #db: Kysely<Database>

  /** @param watches that have followed everything. */
  constructor(owners: readonly OwnedFields[], watches: readonly VersionWatch[], db: Kysely<Database>) {
    this.#owners = owners
    this.#watches = watches
    this.#db = db
  }

  /** `Kind field: manager` of what Pawl holds and no controller of that name declares. */
  undeclaredHeld(): readonly string[] {
    return this.#told(this.#held().filter(({ managers: [manager = ''] }) => manager.startsWith('pawl')))
  }

  /** The same of what its writes changed, or took away. */
  async undeclaredChanged(): Promise<readonly string[]> {
    return this.#told(await this.changes())
  }

  /** The changes of each write, without changes of other writers. */
  async changes(): Promise<readonly Change[]> {
    const managersOf = await this.#managersOfVersions()
    return this.#objects().flatMap((all) =>
      all.slice(1).flatMap((object, index) => {
        const managers = managersOf(object)
        const before = all[index]
        return managers.length === 0 || before === undefined
          ? []
          : changedFields(before, object).map((at) => ({ object, at, managers }))
      }),
    )
  }

  /** Pawl's managers of each object that a controller makes whole. */
  makers(): readonly (readonly string[])[] {
    const made = new Set(this.#owners.flatMap(({ makes }) => makes))
    return this.#objects()
      .filter(([object]) => made.has(object?.kind ?? ''))
      .map((all) => all.flatMap((object) => heldFields(object).map(({ manager }) => manager)))
      .map((managers) => [...new Set(managers)].filter((manager) => manager.startsWith('pawl')))
  }

  /** `Kind field: controller` of what is declared, and was never written. */
  async neverWritten(): Promise<readonly string[]> {
    const seen = [...this.#held(), ...(await this.changes())]
    return this.#owners.flatMap(({ controller, fields }) => {
      const own = seen.filter(({ managers }) => managers.includes(`pawl-${controller}`))
      const isSeen = (kind: string, declared: readonly string[]) =>
        own.some(({ object, at }) => object.kind === kind && isBelow(declared, at))
      return Object.entries(fields).flatMap(([kind, paths]) =>
        paths.filter((at) => !isSeen(kind, at)).map((at) => `${kind} ${fieldText(at)}: ${controller}`),
      )
    })
  }

  #objects(): readonly (readonly KubeObject[])[] {
    return this.#watches.flatMap(({ versions }) => [...versions.values()])
  }

  #held(): readonly Change[] {
    return this.#objects().flatMap((versions) =>
      versions.flatMap((object) => heldFields(object).map(({ manager, at }) => ({ object, at, managers: [manager] }))),
    )
  }

  #told(changes: readonly Change[]): readonly string[] {
    const undeclared = changes.filter(({ object, at, managers }) => !this.#isOwned(object, at, managers))
    return [
      ...new Set(
        undeclared.map(({ object: { kind = '' }, at, managers }) => `${kind} ${fieldText(at)}: ${managers.join()}`),
      ),
    ]
  }

  /** Whether one of the managers may write the field; nothing for managers that are no controller's. */
  #isOwned({ kind = '' }: KubeObject, at: readonly string[], managers: readonly string[]): boolean {
    return managers.some((manager) => {
      const owner = this.#owners.find(({ controller }) => manager === `pawl-${controller}`)
      return owner !== undefined && (owner.makes.includes(kind) || isDeclared(owner, kind, at))
    })
  }

  /** The field managers of the writes that led to a version; an answer that brought nothing new is among them. */
  async #managersOfVersions(): Promise<(object: KubeObject) => readonly string[]> {
    const rows = await this.#db
      .selectFrom('action')
      .select(['kind', 'namespace', 'name', 'verb', 'resource_version', 'field_manager'])
      .orderBy('seq')
      .execute()
    return ({ kind, metadata: { name, namespace, resourceVersion, deletionTimestamp } }) => {
      const byVersion = rows.filter(({ resource_version }) => resource_version === Number(resourceVersion))
      if (byVersion.length > 0 || deletionTimestamp === undefined) return byVersion.map((row) => row.field_manager)
      // With its last finalizer an object goes, and that has a version of its own.
      const last = rows.findLast(
        (row) => row.verb === 'patch' && row.kind === kind && row.namespace === namespace && row.name === name,
      )
      return last === undefined ? [] : [last.field_manager]
    }
  }
}
