// Values of the operation annotation that start nothing: each kind reports a new one once, by a Warning Event. Source: spec/landscaper.md 2.11.

import { describe, expect, it } from 'vitest'

import { FINALIZER } from '../../../workflows/landscaper/contract.ts'
import { deployItemKind } from '../../../workflows/landscaper/deploy-item/kind.ts'
import { deployItemRun, deployRoutes } from '../../../workflows/landscaper/deploy-item/routes.ts'
import { executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import { executionRoutes, executionRun } from '../../../workflows/landscaper/execution/routes.ts'
import { installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import { installationRoutes, installationRun } from '../../../workflows/landscaper/installation/routes.ts'
import { type ControllerRoutes, type Kind, routeEvent, type RunRequest } from '../../../workflows/kit/index.ts'

const OPERATION = 'landscaper.gardener.cloud/operation'
const IDLE = { status: { jobID: 'job', jobIDFinished: 'job', phase: 'Succeeded' } }
const spec = { type: 'landscaper.gardener.cloud/mock' }
const object = (value?: string) => ({
  spec,
  ...IDLE,
  metadata: { finalizers: [FINALIZER], annotations: value === undefined ? {} : { [OPERATION]: value } },
})

const KINDS: readonly [Kind, ControllerRoutes, (subject: object) => RunRequest, known: string][] = [
  [installationKind, installationRoutes, (subject) => installationRun(subject), 'interrupt'],
  [executionKind, executionRoutes, (subject) => executionRun(subject, false), 'reconcile'],
  [deployItemKind, deployRoutes, (subject) => deployItemRun(subject, false), 'retry'],
]

describe.each(KINDS)('the operation annotation of an idle $kind', ({ group, kind }, routes, runOf, known) => {
  const routed = (value: string, previous?: string) => {
    const at = { uid: 'u', namespace: 'n', name: 'a', resourceVersion: 2, type: 'MODIFIED' } as const
    const event = { group, kind, ...at, projection: object(value), previous: object(previous) }
    const routing = routeEvent([routes], event)
    return 'routes' in routing ? routing.routes.map(({ cause }) => cause) : []
  }

  it('wakes the object when its value changes to an unknown one, and only then', () => {
    expect(routed('Reconcile')).toEqual(['unknown operation annotation'])
    expect(routed('Reconcile', 'abort')).toEqual(['unknown operation annotation'])
    expect(routed('Reconcile', 'Reconcile')).toEqual([])
    expect(routed(known)).not.toContain('unknown operation annotation')
  })

  it('leads to a Warning instead of a run if its value is unknown', () => {
    const message = expect.stringMatching(/operation: found "Reconcile", which starts nothing; expected "/) as string
    expect(runOf(object('Reconcile'))).toMatchObject({ warning: { reason: 'UnknownOperation', message } })
    expect(runOf(object(known))).not.toHaveProperty('warning')
  })
})
