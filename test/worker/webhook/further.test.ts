import { afterEach, describe, expect, it } from 'vitest'
import pino from 'pino'
import { once } from 'node:events'

import { openFurther, type OpenFurther } from '../../../worker/webhook/further.ts'
import type { Admission, FurtherRules, FurtherRulesModule } from '../../../workflows/kit/index.ts'
import { executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import { targetKind } from '../../../workflows/landscaper/target/kind.ts'

const PROBLEM = { field: 'spec', found: 'an archive', expected: 'another' }
const ASKED = {
  operation: 'CREATE',
  object: {},
  old: undefined,
  user: { name: 'x', groups: [] },
  namespace: 'n',
} as const

let opened: OpenFurther | undefined
afterEach(async () => {
  await opened?.close()
})

const admission = (kind: Admission['kind'], module?: FurtherRulesModule): Admission => ({
  ...{ kind, operations: ['CREATE'], validate: () => [] },
  ...(module && { further: () => Promise.resolve(module) }),
})

async function open(admissions: readonly Admission[], lines: string[] = []): Promise<OpenFurther> {
  const log = pino({}, { write: (line: string) => lines.push(line) })
  opened = await openFurther(admissions, { limitMs: 50, log })
  return opened
}

describe('the further rules of two kinds', () => {
  it('are opened once when they share a module, and told which kind is asked about', async () => {
    const seen: string[] = []
    const rules: FurtherRules = {
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
      openFurtherRules: () => {
        opens += 1
        return rules
      },
    }
    const [first, second] = [admission(executionKind, module), admission(targetKind, module)]
    const { ask, close } = await open([first, second])
    expect(await ask(first, ASKED)).toEqual([PROBLEM])
    expect(await ask(second, ASKED)).toEqual([PROBLEM])
    await close()
    opened = undefined
    expect([opens, ...seen]).toEqual([1, 'n/Execution', 'n/Target', 'closed'])
  })

  it('say nothing of a kind that has none', async () => {
    const none = admission(targetKind)
    const { ask } = await open([none])
    expect(await ask(none, ASKED)).toEqual([])
  })

  it.each<readonly [string, FurtherRules['validate']]>([
    ['fail', () => Promise.reject(new Error('a thread is gone'))],
    [
      'take too long',
      async ({ signal }) => {
        await once(signal, 'abort')
        throw signal.reason
      },
    ],
  ])('let the object pass when they %s, and a line of the log tells without its content', async (_, validate) => {
    const one = admission(executionKind, { openFurtherRules: () => ({ validate, close: () => Promise.resolve() }) })
    const lines: string[] = []
    const { ask } = await open([one], lines)
    expect(await ask(one, { ...ASKED, object: { spec: { secret: 'planted' } } })).toEqual([])
    expect(lines.join('')).toContain('the object passes')
    expect(lines.join('')).not.toContain('planted')
  })
})
