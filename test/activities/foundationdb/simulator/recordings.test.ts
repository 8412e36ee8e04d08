// Each recorded command gives the same exit code, output and waits in the simulator, except for the listed differences.

import { describe, expect, it } from 'vitest'

import { KNOWN_DIFFERENCES } from './known-differences.ts'
import { RECORDED_CLUSTERS } from './recorded-clusters.ts'
import { replay } from './replay.ts'

describe('the recorded commands of', () => {
  it.each(RECORDED_CLUSTERS)('$folder give the recorded results in the simulator', async (plan) => {
    const { commands, differences } = await replay(plan)
    expect(commands).toBeGreaterThan(0)
    const prefix = `${plan.folder.split('-')[0] ?? ''}/`
    const known = KNOWN_DIFFERENCES.flatMap((entry) => entry.commands).filter((entry) => entry.startsWith(prefix))
    const isKnown = (command: string, field: string) =>
      known.some((entry) => {
        const [name, ...fields] = entry.split(' ')
        return name === prefix + command.slice(0, 3) && fields.includes(field)
      })
    const unknown = differences.filter(({ command, field }) => !isKnown(command, field))
    expect(unknown).toEqual([])
    const seen = differences.map(({ command, field }) => `${prefix}${command.slice(0, 3)} ${field}`)
    const expected = known.flatMap((entry) => {
      const [name = '', ...fields] = entry.split(' ')
      return fields.map((field) => `${name} ${field}`)
    })
    expect(expected.filter((entry) => !seen.includes(entry))).toEqual([])
  })
})
