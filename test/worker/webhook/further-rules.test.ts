import { afterEach, describe, expect, it } from 'vitest'
import pino from 'pino'
import { once } from 'node:events'

import { type FurtherOptions, openAsyncRules, type OpenFurtherRules } from '../../../worker/webhook/further-rules.ts'
import type { Admission, AsyncRules, AsyncRulesModule } from '../../../workflows/kit/index.ts'
import { KubeError } from '../../../activities/kube/errors.ts'
import { executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import { targetKind } from '../../../workflows/landscaper/target/kind.ts'

const NOTHING = { problems: [], warnings: [] }
const PROBLEM = { field: 'spec', found: 'an archive', expected: 'another' }
const ASKED = {
  operation: 'CREATE',
  object: {},
  old: undefined,
  user: { name: 'x', groups: [] },
  namespace: 'n',
} as const

let opened: OpenFurtherRules | undefined
afterEach(async () => {
  await opened?.close()
})

const admission = (kind: Admission['kind'], module?: AsyncRulesModule): Admission => ({
  kind,
  operations: ['CREATE'],
  validate: () => [],
  ...(module && { asyncRules: () => Promise.resolve(module) }),
})

async function open(
  admissions: readonly Admission[],
  lines: string[] = [],
  kube: FurtherOptions['kube'] = { request: () => Promise.reject(new Error('nothing is read')) },
): Promise<OpenFurtherRules> {
  const log = pino({}, { write: (line: string) => lines.push(line) })
  opened = await openAsyncRules([{ admissions, flags: { unit: 'stone' } }], { kube, limitMs: 50, log })
  return opened
}

describe('the further rules of two kinds', () => {
  it('are opened once per module and called with the kind', async () => {
    const seen: string[] = []
    const rules: AsyncRules = {
      validate: async ({ kind, namespace }) => {
        seen.push(`${namespace}/${kind.kind}`)
        return await Promise.resolve([PROBLEM])
      },
      close: async () => {
        seen.push('closed')
        await Promise.resolve()
      },
    }
    let opens = 0
    const module = {
      openAsyncRules: () => {
        opens += 1
        return rules
      },
    }
    const [first, second] = [admission(executionKind, module), admission(targetKind, module)]
    const { validate: ask, close } = await open([first, second])
    expect(await ask(first, ASKED)).toEqual({ problems: [PROBLEM], warnings: [] })
    expect(await ask(second, ASKED)).toEqual({ problems: [PROBLEM], warnings: [] })
    await close()
    opened = undefined
    expect([opens, ...seen]).toEqual([1, 'n/Execution', 'n/Target', 'closed'])
  })

  it.each<readonly [string, AsyncRules['validate']]>([
    ['fail', () => Promise.reject(new Error('a thread is gone'))],
    [
      'take too long',
      async ({ signal }) => {
        await once(signal, 'abort')
        throw signal.reason
      },
    ],
  ])('allow the object when they %s, and log that without its content', async (_, validate) => {
    const one = admission(executionKind, { openAsyncRules: () => ({ validate, close: () => Promise.resolve() }) })
    const lines: string[] = []
    const { validate: ask } = await open([one], lines)
    expect(await ask(one, { ...ASKED, object: { spec: { secret: 'planted' } } })).toEqual(NOTHING)
    expect(lines.join('')).toContain('accepts the object')
    expect(lines.join('')).not.toContain('planted')
  })

  it("read with the webhook's account, and get the flags of their wing", async () => {
    const asked: unknown[] = []
    const kube: FurtherOptions['kube'] = {
      request: <T>(method: string, path: string, options?: object) => {
        asked.push([method, path, options])
        const missing = new KubeError('there is none', { status: 404, reason: 'NotFound' })
        return path.endsWith('/there') ? Promise.resolve({ data: { most: '3' } } as T) : Promise.reject(missing)
      },
    }
    const one = admission(executionKind, {
      openAsyncRules: ({ kube: reader, flags }) => ({
        validate: async () => {
          const there = await reader.get<{ data: object }>('/maps/there', { query: { limit: '1' } })
          const found = JSON.stringify([there, (await reader.get('/maps/none')) === undefined, flags])
          return [{ field: 'spec', found, expected: 'less' }]
        },
        warnings: () => Promise.reject(new Error('asked though something is wrong')),
        close: () => Promise.resolve(),
      }),
    })
    const { validate: ask } = await open([one], [], kube)
    const [problem] = (await ask(one, ASKED)).problems
    expect(problem?.found).toBe('[{"data":{"most":"3"}},true,{"unit":"stone"}]')
    expect(asked).toEqual([
      ['GET', '/maps/there', { query: { limit: '1' } }],
      ['GET', '/maps/none', {}],
    ])
  })

  it('validate metadata only for kinds with such rules', async () => {
    const rules: AsyncRules = {
      validate: () => Promise.reject(new Error('asked about what may be stored')),
      metadata: ({ kind, namespace }) => Promise.resolve([{ ...PROBLEM, found: `${namespace}/${kind.kind}` }]),
      close: () => Promise.resolve(),
    }
    const [one, none] = [admission(executionKind, { openAsyncRules: () => rules }), admission(targetKind)]
    const { validate: ask } = await open([one, none])
    expect(await ask(one, ASKED, 'metadata')).toEqual({
      problems: [{ ...PROBLEM, found: 'n/Execution' }],
      warnings: [],
    })
    expect(await ask(none, ASKED, 'metadata')).toEqual(NOTHING)
  })

  it('mutate by the flags of their wing; a mutation that throws changes nothing', async () => {
    const one = admission(executionKind, {
      openAsyncRules: ({ flags }) => ({
        validate: () => Promise.resolve([]),
        mutate(mutation, { kind }) {
          if (mutation === 'broken') throw new Error('planted')
          return [{ path: ['spec', 'unit'], value: `${kind.kind} ${String(flags['unit'])}` }]
        },
        close: () => Promise.resolve(),
      }),
    })
    const lines: string[] = []
    const { mutate } = await open([one], lines)
    expect(mutate(one, 'unit', ASKED)).toEqual([{ path: ['spec', 'unit'], value: 'Execution stone' }])
    expect(mutate(one, 'broken', ASKED)).toEqual([])
    expect(lines.join('')).toContain('a mutation failed; the object is not mutated')
    expect(mutate(admission(targetKind), 'unit', ASKED)).toEqual([])
  })
})
