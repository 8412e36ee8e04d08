import { describe, expect, it } from 'vitest'

import { type ListedObject, measureKind } from '../../../../activities/foundationdb/metrics/gauges.ts'
import { metricsObserver } from '../../../../activities/foundationdb/metrics/observer.ts'
import { backupSamples, clusterSamples } from '../../../../activities/foundationdb/metrics/samples.ts'
import type { KubeClient } from '../../../../activities/kube/client.ts'
import { KubeError } from '../../../../activities/kube/kube-error.ts'
import type { Sample } from '../../../../activities/run/metrics.ts'
import type { FoundationDBBackup } from '../../../../workflows/foundationdb/backup/kind.ts'
import { clusterKind, type FoundationDBCluster } from '../../../../workflows/foundationdb/cluster/kind.ts'
import { FOUNDATIONDB_METRICS } from '../../../../workflows/foundationdb/metrics.ts'

const METADATA = { namespace: 'shop', name: 'sample', generation: 3, creationTimestamp: '2026-01-01T00:00:00Z' }

const CLUSTER = {
  metadata: METADATA,
  spec: {
    version: '7.1.67',
    processCounts: { storage: 2, log: -1, stateless: -1 },
    processGroupsToRemove: ['storage-2'],
  },
  status: {
    health: { available: true, healthy: false, dataMovementPriority: 140 },
    generations: { reconciled: 2 },
    processGroups: [
      { processGroupID: 'storage-1', processClass: 'storage' },
      {
        processGroupID: 'storage-2',
        processClass: 'storage',
        remove: true,
        processGroupConditions: [{ type: 'MissingPod', timestamp: 1 }, { type: 'FromAnotherVersion' }],
      },
      { processGroupID: 'x-1', processClass: 'x' },
    ],
  },
} as unknown as FoundationDBCluster

const BACKUP = {
  metadata: METADATA,
  spec: { version: '7.1.67', clusterName: 'sample', accountName: 'a@b' },
  status: {
    agentCount: 1,
    generations: { reconciled: 3 },
    backupDetails: { running: true, restorable: true, lastRestorableVersionUpdateTime: '2026-01-01T00:00:00Z' },
  },
} as unknown as FoundationDBBackup

/** `name{further labels} value`, without values 0 of process groups. */
function linesOf(samples: readonly Sample[]): readonly string[] {
  return samples.map(({ name, labels = {}, value }) => {
    const further = Object.entries(labels).filter(([label]) => label !== 'namespace' && label !== 'name')
    return `${name}{${further.map(([label, text]) => `${label}=${text}`).join()}} ${value}`
  })
}

describe('the gauges of a cluster', () => {
  it('have the names and values of the Go operator', () => {
    const lines = linesOf(clusterSamples(CLUSTER)).map((line) => line.replace('fdb_operator_', ''))
    expect(lines.filter((line) => !/^process_group_total.* 0$/.test(line))).toEqual([
      'cluster_created_time{} 1767225600',
      'cluster_status{status_type=health} 0',
      'cluster_status{status_type=available} 1',
      'cluster_status{status_type=replication} 0',
      'cluster_status{status_type=datamovementpriority} 140',
      'cluster_latest_reconciled_status{} 2',
      'cluster_reconciled_status{} 0',
      'process_groups_to_remove_total{} 1',
      'process_group_to_remove_without_exclusion_total{} 0',
      'desired_process_group_total{process_class=storage} 2',
      'process_group_total{process_class=storage,condition=MissingPod} 1',
      'process_group_total{process_class=storage,condition=Ready} 1',
      'process_group_marked_removal{process_class=storage} 1',
      'process_group_marked_excluded{process_class=storage} 0',
    ])
    expect(lines).toContain('process_group_total{process_class=storage,condition=PodFailing} 0')
  })

  it('have the declared labels, as the gauges of a backup have', () => {
    const samples = [...clusterSamples(CLUSTER), ...backupSamples(BACKUP)]
    const declared = Object.entries(FOUNDATIONDB_METRICS).filter(([, { type }]) => type === 'gauge')
    expect(new Set(samples.map(({ name }) => name))).toEqual(new Set(declared.map(([name]) => name)))
    for (const { name, labels } of samples) {
      const { labels: expected } = FOUNDATIONDB_METRICS[name as keyof typeof FOUNDATIONDB_METRICS]
      expect(Object.keys(labels ?? {})).toEqual(expected)
    }
  })
})

describe('a measurement', () => {
  function measured() {
    const requests: string[] = []
    const state = { listed: [] as readonly ListedObject[], isGone: false }
    const kube = {
      request: (_method: string, path: string) => {
        requests.push(path.split('/').at(-1) ?? '')
        return state.isGone
          ? Promise.reject(new KubeError('gone', { status: 404, reason: 'NotFound' }))
          : Promise.resolve(path)
      },
    } as unknown as KubeClient
    const samplesOf = (path: string) => [
      { name: path, value: 1 },
      { name: 'age', sinceMs: Date.parse('2026-01-01T00:00:00Z') },
    ]
    const clock = { iso: '2026-01-01T00:01:00Z' }
    const parts = { kube, now: () => new Date(clock.iso) }
    const measure = measureKind({ kind: clusterKind, samplesOf: samplesOf }, parts, () => Promise.resolve(state.listed))
    return { requests, state, clock, measure }
  }
  const listed = (name: string, version: number) => ({ uid: name, namespace: 'shop', name, resource_version: version })

  it('reads an object again only if its version has changed', async () => {
    const { requests, state, measure } = measured()
    state.listed = [listed('a', 1), listed('b', 1)]
    expect(await measure()).toHaveLength(4)
    expect(await measure()).toHaveLength(4)
    expect(requests).toEqual(['a', 'b'])
    state.listed = [listed('a', 2), listed('b', 1)]
    await measure()
    expect(requests).toEqual(['a', 'b', 'a'])
  })

  it('computes ages again, also of an object that has not changed', async () => {
    const { state, clock, measure } = measured()
    state.listed = [listed('a', 1)]
    expect((await measure()).at(-1)).toEqual({ name: 'age', value: 60 })
    clock.iso = '2026-01-01T00:02:30Z'
    expect((await measure()).at(-1)).toEqual({ name: 'age', value: 150 })
  })

  it('has no gauges of an object that does not exist', async () => {
    const { state, measure } = measured()
    state.listed = [listed('a', 1)]
    await measure()
    state.listed = []
    expect(await measure()).toEqual([])
    Object.assign(state, { listed: [listed('b', 1)], isGone: true })
    expect(await measure()).toEqual([])
  })
})

describe('the observer', () => {
  it('counts other connection strings, but not the first one', () => {
    const counted: unknown[] = []
    const observer = metricsObserver({ count: (...values) => void counted.push(values) })
    const write = (old: string | undefined, connectionString: string, controller = 'fdbcluster') =>
      observer.statusWritten?.({
        controller,
        before: { connectionString: old },
        after: { metadata: { namespace: 'shop', name: 'sample' }, status: { connectionString } },
      })
    write(undefined, 'a:1@h')
    write('a:1@h', 'a:1@h')
    write('a:1@h', 'a:2@h', 'fdbbackup')
    write('a:1@h', 'a:2@h')
    expect(counted).toEqual([['fdb_operator_coordinator_changes_total', { namespace: 'shop' }, 1, { name: 'sample' }]])
  })

  it('counts the errors of backups by their step', () => {
    const counted: unknown[] = []
    const observer = metricsObserver({ count: (...values) => void counted.push(values) })
    const end = (fault: string | undefined, controller = 'fdbbackup') =>
      observer.passEnded?.({ controller, workflowID: 'id', namespace: 'shop', name: 'nightly', fault })
    end(undefined)
    end('StartBackup', 'fdbrestore')
    end('UpdateBackupStatus (again)')
    const labels = { namespace: 'shop', subreconciler: 'UpdateBackupStatus' }
    expect(counted).toEqual([['fdb_operator_backup_reconcile_errors_total', labels, 1, { name: 'nightly' }]])
  })
})
