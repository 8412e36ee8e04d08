// Events that `kubectl describe` shows for a fault in level mode, in addition to the status that the plan writes.

import { beforeEach, describe, expect, inject, it } from 'vitest'

import { createActivities } from '../../activities/index.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'
import { refusal, type TinyApi } from '../activities/kube/tiny-api.ts'

const stage = useWriteStage(inject('servers').databaseUrl)
let api: TinyApi
let act: ReturnType<typeof createActivities>
beforeEach(() => {
  api = stage().api
  const { deps } = stage()
  act = createActivities({ ...deps, modes: { ...deps.modes, shop: 'level' } }, [])
})

const target = { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' }
const shop = { kind: 'Shop', uid: 'uid-shop', namespace: 'n', name: 'shop' }
const fault = { reason: 'Forbidden', message: 'ConfigMap n/a: POST is forbidden' }
const settled = { againMs: 60_000, attempt: 1, fault, subject: shop, target }
const pass = (pass: number, runID = 'run') => ({ by: { workflowID: 'shop/uid-shop', runID, pass } })
const events = () => [...api.objects.values()].filter(({ kind }) => kind === 'Event')

describe('a pass with a fault', () => {
  it('records one Warning Event per run and message on its object', async () => {
    await act.settleLevel({ ...settled, ...pass(1) })
    await act.settleLevel({ ...settled, ...pass(2), attempt: 2 })
    expect(events()).toMatchObject([
      {
        metadata: { namespace: 'n' },
        involvedObject: { ...shop, apiVersion: 'example.com/v1' },
        type: 'Warning',
        reason: 'Forbidden',
        message: fault.message,
      },
    ])
    await act.settleLevel({ ...settled, ...pass(1, 'later') })
    await act.settleLevel({ ...settled, ...pass(2, 'later'), fault: { ...fault, message: 'another' } })
    expect(events()).toHaveLength(3)
  })

  it('records its Event in the default namespace if its object is cluster-scoped', async () => {
    await act.settleLevel({ ...settled, ...pass(1), subject: { ...shop, namespace: '' } })
    const [event] = events()
    expect(event?.metadata.namespace).toBe('default')
    expect(event?.['involvedObject']).toEqual({
      apiVersion: 'example.com/v1',
      kind: 'Shop',
      uid: 'uid-shop',
      name: 'shop',
    })
  })

  it('records no Event if a user has nothing to fix', async () => {
    await act.settleLevel({ ...settled, ...pass(1), fault: { reason: 'Changed', message: 'it was edited' } })
    await act.settleLevel({ ...settled, ...pass(2), fault: undefined, attempt: 0 })
    expect(events()).toEqual([])
  })

  it('is settled even if the API server rejects the Event', async () => {
    api.intercept = ({ method }) => (method === 'POST' ? refusal(403, 'Forbidden') : undefined)
    await act.settleLevel({ ...settled, ...pass(1) })
    expect(await stage().database.db.selectFrom('wake').select('cause').execute()).toEqual([{ cause: 'retry 1' }])
  })
})
