// Tests that the main thread parses or refuses hostile text within a limited CPU time.

import { describe, expect, it } from 'vitest'
import { checkDeployItems } from '../../../../activities/landscaper/render/deploy-items.ts'
import { readDefinition } from '../../../../activities/landscaper/render/blueprint/blueprint-definition.ts'
import { redactMessage, redactOutput } from '../../../../activities/landscaper/render/engine/redact.ts'
import { parseYaml, YamlError } from '../../../../activities/yaml/read-yaml.ts'
import { expectCpuBelow } from '../../../support/costs/cpu-limit.ts'

/** CPU time. The limit is generous: code without protection takes minutes. */
const SOON_MS = 15_000
const MANY = 300_000

describe('YAML', () => {
  const aliases = Array.from({ length: 30_000 }, (_, index) => `k${index}: &a${index} v\nl${index}: *a${index}`)

  it.each([
    ['a long list', '- a\n'.repeat(MANY), 'found more than 250000 tokens'],
    ['a long list in one line', `[${'a,'.repeat(MANY)}]`, 'found more than 250000 tokens'],
    ['a key again and again', 'a: 1\n'.repeat(MANY / 2), 'found more than 250000 tokens'],
    [
      'aliases that expand to much',
      `a: &a [${'v, '.repeat(1000)}]\n${aliases.slice(0, 10_000).join('\n')}\n${'b: *a\n'.repeat(300)}`,
      'aliases that expand to more',
    ],
    ['open brackets', '['.repeat(MANY), 'nested too deeply'],
    ['more than is allowed', 'a'.repeat(5_000_000), 'found 5000000 characters'],
  ])('is refused within the CPU time limit: %s', (_, text, message) => {
    expect(() => timed(() => parseYaml(text))).toThrow(
      expect.objectContaining({ name: YamlError.name, message: expect.stringContaining(message) as string }) as Error,
    )
  })

  it.each([
    ['a list', '- a\n'.repeat(30_000)],
    ['a key again and again', 'a: 1\n'.repeat(20_000)],
    ['a long text', `a: |\n${'  text\n'.repeat(400_000)}`],
    ['aliases', aliases.slice(0, 200).join('\n')],
  ])('of a usual size is parsed within the CPU time limit: %s', (_, text) => {
    expect(timed(() => parseYaml(text).value)).toBeTypeOf('object')
  })
})

describe('an error message', () => {
  const source = { name: 'default', template: '((((('.repeat(MANY / 10) + 'x', files: { a: '{{'.repeat(MANY) } }

  it.each([
    '('.repeat(MANY) + 'x',
    '{{'.repeat(MANY),
    `${'a:1'.repeat(MANY)} x`,
    '*** '.repeat(MANY),
    `***${' '.repeat(MANY)}x`,
  ])('with hostile text is redacted within the CPU time limit: %#', (message) => {
    expect(timed(() => redactMessage(message, source)).length).toBeLessThan(3000)
    expect(timed(() => redactOutput(message, source))).not.toContain('a:1')
  })
})

describe('lists with very many names', () => {
  it('are checked within the CPU time limit, and a limited number of their problems is reported', () => {
    const config = { apiVersion: 'mock/v1', kind: 'ProviderConfiguration' }
    const items = Array.from({ length: 100_000 }, (_, index) => ({ name: `n${index}`, type: 't', config }))
    expect(timed(() => checkDeployItems(items))).toEqual([])
    const exports = Array.from({ length: 2_000 }, () => '- { name: a, schema: {} }')
    const read = () => timed(() => readDefinition(`exports:\n${exports.join('\n')}`))
    expect(read).toThrow(/found "a" twice; expected unique names \| and 1979 more$/)
  })
})

/** Fails if the work uses more than SOON_MS of CPU time. */
function timed<T>(work: () => T): T {
  return expectCpuBelow(SOON_MS, work)
}
