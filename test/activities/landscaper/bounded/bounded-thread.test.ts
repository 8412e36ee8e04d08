// A slow thread must not slow down other callers.

import { readdirSync } from 'node:fs'
import { constants, getPriority } from 'node:os'
import { describe, expect, it } from 'vitest'
import { createTemplateEngine } from '../../../../activities/landscaper/render/engine/template-engine.ts'

const LOOP = '{{ range until 60000 }}{{ range until 60000 }}{{ end }}{{ end }}'
const request = (template: string) => ({ engine: 'GoTemplate', name: 'one', template, files: {}, binding: {} }) as const

const lowered = () =>
  readdirSync('/proc/self/task').filter((id) => getPriority(Number(id)) === constants.priority.PRIORITY_BELOW_NORMAL)

describe.runIf(process.platform === 'linux')('a template that takes more than a second', () => {
  it('continues at a low priority, while other templates render in another thread', async () => {
    const engine = createTemplateEngine({ threads: 1, timeoutMs: 4000 })
    const before = lowered()
    const slow = expect(engine.render(request(LOOP))).rejects.toMatchObject({ code: 'TemplateTimeout' })
    await expect.poll(() => lowered().length, { timeout: 60_000 }).toBe(before.length + 1)
    expect((await engine.render(request('quick'))).output).toBe('quick')
    await slow
    expect((await engine.render(request('next'))).output).toBe('next')
    expect(lowered()).toEqual(before)
    await engine.close()
  }, 120_000)
})
