// One controller per field, for the kinds of this wing: everything that happens in the tests of a file is followed, and looked at behind them.

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'

import { CHAOS_NAMESPACE } from '../../../workflows/chaos/config.ts'
import type { OwnedFields } from '../../../workflows/kit/index.ts'
import { Cluster } from '../cluster/cluster.ts'
import { FieldsAudit } from '../cluster/field-audit.ts'
import { VersionWatch } from '../cluster/version-watch.ts'
import { CHAOS, type ChaosTenants } from './tenants.ts'

interface Watched {
  /** Whose fields each have to be written by what the tests do. */
  readonly owners: readonly OwnedFields[]
  /** Further writers. */
  readonly others?: readonly OwnedFields[]
  /** Fields that other test files cover, as `Kind field: controller`. */
  readonly elsewhere?: readonly string[]
}

/** To be called behind the tests of a file, with a namespace of theirs. */
export function watchFields<Name extends string>(
  chaos: ChaosTenants<Name>,
  name: Name,
  { owners, others = [], elsewhere = [] }: Watched,
): void {
  const watches: VersionWatch[] = []
  const pods = new Cluster(inject('servers').kubeconfigPath, CHAOS_NAMESPACE)
  beforeAll(() => {
    const kinds = ['disruptions', 'disruptioncrons', 'disruptionrollouts'].map((plural) => ({
      apiVersion: CHAOS,
      plural,
    }))
    watches.push(
      VersionWatch.start(chaos.of(name).cluster, kinds),
      VersionWatch.start(pods, [{ apiVersion: 'v1', plural: 'pods' }]),
    )
  })
  // Before the clients are closed.
  afterAll(async () => {
    for (const watch of watches) await watch.stop()
    await pods.kube.close()
  })
  const audit = (of: readonly OwnedFields[]) => new FieldsAudit(of, watches, chaos.tenants.pawl.db)

  describe('the fields of all that was there', () => {
    it('are held, changed and taken away by controllers that declare them, and each that is declared was written', async () => {
      for (const watch of watches) await watch.upToDate()
      const all = audit([...owners, ...others])
      expect(all.undeclaredHeld()).toEqual([])
      expect(await all.undeclaredChanged()).toEqual([])
      expect((await all.changes()).length).toBeGreaterThan(20)
      expect(await audit(owners).neverWritten()).toEqual(elsewhere)
    })
  })
}
