// Compares the fields that Pawl writes in a live cluster with the field declarations of its controllers. Reads the
// managedFields of each version of each object, and the differences that each write causes, including deleted fields.
// Source: seeds/chaos-mesh-controller-rules.txt "One controller per field".

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

  /** @param watches must have followed all objects since their creation. */
  constructor(owners: readonly OwnedFields[], watches: readonly VersionWatch[], db: Kysely<Database>) {
    this.#owners = owners
    this.#watches = watches
    this.#db = db
  }

  /** `Kind field: manager` for fields that a field manager of Pawl owns and its controller does not declare. */
  undeclaredHeld(): readonly string[] {
    return this.#told(this.#held().filter(({ managers: [manager = ''] }) => manager.startsWith('pawl')))
  }

  /** `Kind field: managers` for fields that Pawl changed or deleted and no controller of these names declares. */
  async undeclaredChanged(): Promise<readonly string[]> {
    return this.#told(await this.changes())
  }

  /** The fields that each write of Pawl changed. */
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

  /** Pawl's field managers of each object of a kind that a controller owns completely (`makes`). */
  makers(): readonly (readonly string[])[] {
    const made = new Set(this.#owners.flatMap(({ makes }) => makes))
    return this.#objects()
      .filter(([object]) => made.has(object?.kind ?? ''))
      .map((all) => all.flatMap((object) => heldFields(object).map(({ manager }) => manager)))
      .map((managers) => [...new Set(managers)].filter((manager) => manager.startsWith('pawl')))
  }

  /** `Kind field: controller` for declared fields that the controller never wrote. */
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

  /** Whether one of the managers is a controller that declares the field. */
  #isOwned({ kind = '' }: KubeObject, at: readonly string[], managers: readonly string[]): boolean {
    return managers.some((manager) => {
      const owner = this.#owners.find(({ controller }) => manager === `pawl-${controller}`)
      return owner !== undefined && (owner.makes.includes(kind) || isDeclared(owner, kind, at))
    })
  }

  /** The field managers of all writes whose answer has the version of the object, including writes without effect. */
  async #managersOfVersions(): Promise<(object: KubeObject) => readonly string[]> {
    const rows = await this.#db
      .selectFrom('action')
      .select(['kind', 'namespace', 'name', 'verb', 'resource_version', 'field_manager'])
      .orderBy('seq')
      .execute()
    return ({ kind, metadata: { name, namespace, resourceVersion, deletionTimestamp } }) => {
      const byVersion = rows.filter(({ resource_version }) => resource_version === Number(resourceVersion))
      if (byVersion.length > 0 || deletionTimestamp === undefined) return byVersion.map((row) => row.field_manager)
      // The patch that removes the last finalizer deletes the object. The deletion has its own resourceVersion.
      const last = rows.findLast(
        (row) => row.verb === 'patch' && row.kind === kind && row.namespace === namespace && row.name === name,
      )
      return last === undefined ? [] : [last.field_manager]
    }
  }
}
