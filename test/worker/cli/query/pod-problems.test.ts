import { describe, expect, it } from 'vitest'

import { type PodObject, podProblems } from '../../../../worker/cli/query/pod-problems.ts'

type Status = NonNullable<PodObject['status']>

const pod = (name: string, status: Status, nodeSelector?: Record<string, string>): PodObject => ({
  metadata: { name, namespace: 'apps' },
  ...(nodeSelector !== undefined && { spec: { nodeSelector } }),
  status,
})
const unscheduled = (message: string): Status => ({
  phase: 'Pending',
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
})
const container = (more: NonNullable<Status['containerStatuses']>[number]): Status => ({
  phase: 'Running',
  conditions: [{ type: 'Ready', status: 'False' }],
  containerStatuses: [more],
})
const MISMATCH =
  "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, preemption: 0/3 nodes are available."

describe('the reason why a pod is not ready', () => {
  const crash = { exitCode: 1, reason: 'Error', message: 'connecting\npanic: no database\n' }
  it.each<[string, Status, Record<string, string> | undefined, string]>([
    ['no node has its labels', unscheduled(MISMATCH), { disk: 'ssd' }, 'no node matches disk=ssd'],
    [
      'no node has room',
      unscheduled('0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available.'),
      undefined,
      'not scheduled: 0/3 nodes are available: 3 Insufficient cpu',
    ],
    [
      'the image cannot be pulled',
      container({
        name: 'main',
        state: { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "x"' } },
      }),
      undefined,
      'container main: ImagePullBackOff: Back-off pulling image "x"',
    ],
    [
      'the container crashes again',
      container({
        name: 'main',
        restartCount: 3,
        state: { waiting: { reason: 'CrashLoopBackOff' } },
        lastState: { terminated: crash },
      }),
      undefined,
      'container main crashed (exit code 1, 3 restarts): panic: no database',
    ],
    [
      'the container has used too much memory',
      container({ name: 'main', state: { terminated: { exitCode: 137, reason: 'OOMKilled' } } }),
      undefined,
      'container main crashed (OOMKilled)',
    ],
    [
      'its probe fails',
      container({ name: 'main', ready: false, state: { running: {} } }),
      undefined,
      'container main runs and is not ready (see its readiness probe)',
    ],
    ['the kubelet has evicted it', { phase: 'Failed', reason: 'Evicted' }, undefined, 'Failed: Evicted'],
    ['its containers are being created', { phase: 'Pending' }, undefined, 'not ready, in phase Pending'],
  ])('is that %s', (_what, status, selector, text) => {
    expect(podProblems([pod('web-1', status, selector)])).toEqual([
      {
        text: `pod web-1: ${text}`,
        pod: { namespace: 'apps', name: 'web-1' },
        hasCrashed: text.includes('crashed'),
      },
    ])
  })

  it('is printed once for all pods with the same reason, the most frequent first', () => {
    const selector = { disk: 'ssd' }
    const pods = [
      pod('a', container({ name: 'main', state: { terminated: crash } })),
      ...['b', 'c'].map((name) => pod(name, unscheduled(MISMATCH), selector)),
      pod('d', { conditions: [{ type: 'Ready', status: 'True' }] }),
      { metadata: { name: 'e', deletionTimestamp: '2026-02-03T04:05:06Z' }, status: { phase: 'Pending' } },
    ]
    expect(podProblems(pods).map(({ text }) => text)).toEqual([
      '2 pods: no node matches disk=ssd',
      'pod a: container main crashed (exit code 1): panic: no database',
    ])
  })
})
