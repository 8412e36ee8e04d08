// Tests the command line of the bench: the registry of scenarios and their options.

import { describe, expect, it } from 'vitest'

import { readOptions, usageOf } from './options.ts'
import { loadScenario, scenarioNames } from './scenario.ts'

describe('The registry of bench scenarios', () => {
  it('has each file of the folder under its name, with its flags in the help text', async () => {
    const names = await scenarioNames()
    expect(names.toSorted()).toEqual(['ask', 'foundationdb', 'load', 'soak'])
    const scenarios = await Promise.all(names.map(async (name) => ({ name, ...(await loadScenario(name)) })))
    for (const { summary, flags = {} } of scenarios) {
      expect(usageOf(scenarios)).toContain(summary)
      for (const flag of Object.keys(flags)) expect(usageOf(scenarios)).toContain(`--${flag} `)
    }
  })

  it('refuses unknown scenarios, flags and values', async () => {
    await expect(loadScenario('other')).rejects.toThrow('scenario "other": unknown, expected one of')
    const { flags } = await loadScenario('soak')
    expect(readOptions(['--minutes', '2'], flags).values['minutes']).toBe('2')
    expect(() => readOptions(['--rows', '1x1'], flags)).toThrow('--rows')
    expect(() => readOptions(['--runs', '0'], flags)).toThrow('--runs: found 0, expected a whole number from 1')
  })
})
