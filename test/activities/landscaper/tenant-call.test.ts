// Tests that the work on a tenant's data ends when its activity ends.

import { asyncLocalStorage, type Context } from '@temporalio/activity'
import { afterAll, expect, describe, it } from 'vitest'
import type { LandscaperDeps } from '../../../activities/landscaper/deps.ts'
import { forNamespace } from '../../../activities/landscaper/tenant-call.ts'
import { createTemplateEngine } from '../../../activities/landscaper/render/engine/template-engine.ts'

const ENDLESS = '{{ range until 60000 }}{{ range until 60000 }}{{ end }}{{ end }}'
const LONG_MS = 600_000
// A try that went on would hold its place, and this test, for as long as this.
const templates = createTemplateEngine({ threads: 1, timeoutMs: LONG_MS, schemaTimeoutMs: LONG_MS })
afterAll(() => templates.close())

const request = (template: string) => ({ engine: 'GoTemplate', name: 'one', template, files: {}, binding: {} }) as const
const ofNamespace = () =>
  forNamespace({ landscaper: { templates } } as unknown as LandscaperDeps, 'n', { subject: { uid: 'u' }, jobID: 'j' })
    .landscaper.templates

/** As in an activity of Temporal. */
function inActivity<T>(startToCloseTimeoutMs: number, cancelled: AbortSignal, work: () => Promise<T>): Promise<T> {
  const context = { cancellationSignal: cancelled, info: { startToCloseTimeoutMs } } as unknown as Context
  return asyncLocalStorage.run(context, work)
}

/** Places of the one namespace: all but one. */
const PLACES = 3

describe('a render', () => {
  it('ends when its activity is cancelled, even while it is queued, and frees its slot', async () => {
    const activity = new AbortController()
    const renders = Array.from({ length: PLACES + 2 }, () =>
      inActivity(LONG_MS, activity.signal, () => ofNamespace().render(request(ENDLESS))).catch(
        (error: unknown) => error,
      ),
    )
    setImmediate(() => activity.abort('cancelled'))
    expect(new Set(await Promise.all(renders))).toEqual(new Set(['cancelled']))
    const all = Array.from({ length: PLACES }, () => ofNamespace().render(request('done')))
    expect((await Promise.all(all)).map(({ output }) => output)).toEqual(['done', 'done', 'done'])
  })

  it('ends at the start-to-close timeout of its activity, even without a cancellation from Temporal', async () => {
    const never = new AbortController().signal
    const render = inActivity(500, never, () => ofNamespace().render(request(ENDLESS)))
    await expect(render).rejects.toMatchObject({ name: 'TimeoutError' })
    expect((await ofNamespace().render(request('done'))).output).toBe('done')
  })

  it('runs outside of an activity too', async () => {
    expect((await ofNamespace().render(request('done'))).output).toBe('done')
  })
})

describe('a check against a schema', () => {
  it('ends when its activity is cancelled', async () => {
    const activity = new AbortController()
    const endless = {
      what: 'a',
      schema: { pattern: '^(a+)+$' },
      value: `${'a'.repeat(60)}b`,
      localTypes: {},
      files: {},
    }
    const check = inActivity(LONG_MS, activity.signal, () => ofNamespace().checkSchema(endless))
    setTimeout(() => activity.abort('cancelled'), 500)
    await expect(check).rejects.toBe('cancelled')
    const report = await ofNamespace().checkSchema({ ...endless, value: 'aaa' })
    expect(report).toEqual({ problems: [], missing: [] })
  })
})
