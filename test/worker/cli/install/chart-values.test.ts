import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

import { chartValues } from '../../../../worker/cli/install/chart-values.ts'
import { UsageError } from '../../../../worker/server/usage-error.ts'

async function problem(given: { files?: readonly string[]; sets?: readonly string[] }): Promise<string> {
  const error: unknown = await chartValues({ files: [], sets: [], ...given }).catch((found: unknown) => found)
  expect(error).toBeInstanceOf(UsageError)
  return (error as UsageError).message
}

describe('the values of the chart', () => {
  it.each([
    ['worker.replicas=two', 'values: worker.replicas: found "two"; expected an integer'],
    ['worker.replicas=-1', 'values: worker.replicas: found -1; expected at least 0'],
    ['bridge.replicaz=3', 'values: bridge.replicaz: the value does not exist; expected replicas, args, resources'],
    ['wings={lanscaper}', 'values: wings.0: found "lanscaper"; expected one of chaos, foundationdb, landscaper'],
    ['wings={chaos,chaos}', 'values: wings: found ["chaos","chaos"]; expected each item once'],
    ['wings={},webhook.enabled=true', 'values: wings: found []; expected at least 1 items'],
    ['podDisruptionBudget=null', 'values: podDisruptionBudget: the value is missing; expected a map'],
    ['worker.replicas=null', 'values: worker.replicas: the value is missing; expected an integer'],
    ['nodeSelector.a=null', 'values: nodeSelector.a: found null; expected text'],
    ['podMonitor=3', 'values: podMonitor: found 3; expected a map'],
    ['image.repository=', 'values: image.repository: found ""; expected at least 1 characters'],
    [
      'fullnameOverride=A',
      'values: fullnameOverride: found "A"; expected text that matches ^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
    ],
  ])('reject --set %s', async (set, message) => {
    expect(await problem({ sets: [set] })).toBe(message)
  })

  it('report all problems, each on a line', async () => {
    expect((await problem({ sets: ['podMonitor=3,cluster=A_'] })).split('\n')).toHaveLength(2)
  })

  it('do not show a password in a message', async () => {
    const message = await problem({ sets: ['trial.enabled=true,trial.password=secret/x'] })
    expect(message).toContain('values: trial.password: found a value that is not shown; expected text that matches')
    expect(message).not.toContain('secret/x')
  })

  it.each([
    ['a', '--set a: "a" has no value; expected key=value, such as worker.replicas=3'],
    ['a[x]=s', '--set a[x]=...: "[x]" is not the index of an item; expected key=value, such as worker.replicas=3'],
    ['a={b', '--set a=...: a list has no closing brace; expected key=value, such as worker.replicas=3'],
    ['', '--set : the assignment is empty; expected key=value, such as worker.replicas=3'],
  ])('reject the form of --set %s', async (set, message) => {
    expect(await problem({ sets: [set] })).toBe(message)
  })

  it('reject files that are missing, no YAML, or no map', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'pawl-values-'))
    const file = async (text: string) => {
      await writeFile(join(folder, 'v.yaml'), text)
      return [join(folder, 'v.yaml')]
    }
    expect(await problem({ files: [join(folder, 'none')] })).toMatch(
      /^--values .*none: cannot read the file \(ENOENT\)$/,
    )
    expect(await problem({ files: await file('a: [') })).toMatch(/^--values .*v\.yaml: line 1: .*; expected YAML$/)
    expect(await problem({ files: await file('- a') })).toMatch(/v\.yaml: found a list; expected a map$/)
    await rm(folder, { recursive: true })
  })

  it('have an empty list for empty braces', async () => {
    expect(await chartValues({ files: [], sets: ['wings={}'] })).toMatchObject({ wings: [] })
  })

  it('lose a default that is set to null', async () => {
    const { image } = await chartValues({ files: [], sets: ['image.tag=null'] })
    expect(image).toMatchObject({ digest: '' })
    expect(image).not.toHaveProperty('tag')
  })
})
