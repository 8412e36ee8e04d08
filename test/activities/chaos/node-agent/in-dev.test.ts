import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'

import { chaosPrograms } from '../../../../activities/chaos/programs.ts'
import { configFile } from '../../../support/chaos/config-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'pawl-in-dev-'))
afterAll(() => {
  rmSync(folder, { recursive: true })
})
const inDev = chaosPrograms.find(({ name }) => name === 'node-agent')?.inDev
const config = configFile(folder, { injector: { chaosNamespace: 'disturbers' } })
const given = (path: string | undefined) => ({
  kubeconfigPath: 'k',
  folder: 'f',
  isServerOurs: true,
  flags: { 'chaos-config': path },
})

describe('the node agent of `pawl dev` and its manifests', () => {
  it('use the configured chaos namespace', async () => {
    const args = await inDev?.args(given(config))
    expect(args?.slice(-2)).toEqual(['--namespace', 'disturbers'])
    expect(await inDev?.setUp?.('name: chaos-engineering', given(config).flags)).toBe('name: disturbers')
  })

  it('use the default namespace without a configuration', async () => {
    const args = await inDev?.args(given(undefined))
    expect(args?.slice(-2)).toEqual(['--namespace', 'chaos-engineering'])
    expect(await inDev?.setUp?.('name: chaos-engineering', {})).toBe('name: chaos-engineering')
  })

  it('report invalid fields that only the worker uses', async () => {
    const wrong = configFile(folder, { controller: { notifiers: { slack: { enabled: 'maybe' } } } })
    await expect(inDev?.setUp?.('', given(wrong).flags)).rejects.toThrow(
      /controller\.notifiers\.slack\.enabled: found "maybe", expected true or false/,
    )
  })

  it("simulate pods without a process, but never in the user's own cluster", async () => {
    expect((await inDev?.args(given(undefined)))?.join(' ')).toContain('--no-process simulate')
    const args = await inDev?.args({ ...given(undefined), isServerOurs: false })
    expect(args?.join(' ')).not.toContain('simulate')
  })

  it('report an invalid configuration', async () => {
    const wrong = configFile(folder, { injector: { chaosNamespace: 'No' } })
    await expect(inDev?.args(given(wrong))).rejects.toThrow(
      /injector\.chaosNamespace: found "No", expected the name of a namespace/,
    )
  })
})
