// Errors of own activities: they contain no value of a Secret from the input of the activity, in any encoding. Against
// an API server that the test controls.

import { inspect } from 'node:util'
import { asyncLocalStorage } from '@temporalio/activity'
import { expect, inject, it } from 'vitest'

import { ownActivities } from '../../activities/index.ts'
import { type LevelController, ownActivityName } from '../../workflows/kit/index.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'

const stage = useWriteStage(inject('servers').databaseUrl)
const VALUE = 'p&ss "canary"\nsecond canary\n'
const FORMS = [VALUE, VALUE.trim(), JSON.stringify(VALUE), encodeURIComponent(VALUE.trim()), VALUE.split('\n')[1]]

it.each([
  ['is under way', false],
  ['is given up', true],
])('a value of a Secret is not told by what an own activity throws while that %s', async (_, isGivenUp) => {
  const { api, deps } = stage()
  api.put('/api/v1/namespaces/n/secrets/db', {
    apiVersion: 'v1',
    kind: 'Secret',
    data: { password: Buffer.from(VALUE).toString('base64') },
    metadata: { name: 'db', namespace: 'n', uid: 'uid-db' },
  })
  const stop = new AbortController()
  const connect = () => {
    if (isGivenUp) stop.abort()
    throw new Error(`cannot log in: ${FORMS.join(' or ')}`)
  }
  const controller = { name: 'shop', activities: { options: { connect: {} } } } as unknown as LevelController
  const call = ownActivities(controller, { connect }, { deps })[ownActivityName('shop', 'connect')]!
  const context = {
    info: { workflowExecution: { workflowId: 'w', runId: 'r' }, activityId: '1', attempt: 1 },
    heartbeat: () => undefined,
    cancellationSignal: stop.signal,
  }
  const input = {
    subject: { kind: 'Shop', uid: 'uid-shop', namespace: 'n', name: 'shop' },
    input: { data: { url: '' } },
    gaps: [{ at: ['data', 'url'], parts: [{ secret: 'db', key: 'password' }] }],
  }
  const thrown: unknown = await asyncLocalStorage
    .run(context as never, async () => await call(input as never))
    .catch((error: unknown) => error)
  expect(thrown).toMatchObject({
    message: 'cannot log in: *** or *** or "***" or *** or ***',
    type: 'ActivityFailed',
  })
  expect(inspect(thrown, { depth: 9 })).not.toContain('canary')
})
