// The configuration of a process of the wing: its file, its flags and its environment.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { configFor } from '../../../activities/chaos/wing.ts'
import { readConfig } from '../../../worker/server/config.ts'
import { passConfig } from '../../../workflows/chaos/config.ts'
import { configFile } from '../../support/chaos/config-file.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pawl-config-for-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('the nodes of the controller', () => {
  const nodesIn = (controller: object, nodeName?: string) =>
    passConfig(configFor({ 'chaos-config': configFile(folder, { controller }) }, { nodeName })).controller.ownNodes

  it('come from the file and the environment', () => {
    expect(nodesIn({ ownNode: 'a' })).toEqual(['a'])
    expect(nodesIn({ ownNode: ['a', 'b'] }, 'c')).toEqual(['a', 'b', 'c'])
    expect(nodesIn({ ownNode: 'a' }, 'a')).toEqual(['a'])
    expect(configFor({}, { nodeName: 'c' }).controller.ownNodes).toEqual(['c'])
  })

  it('are empty by default', () => {
    expect(nodesIn({ ownNode: '' })).toBeUndefined()
    expect(configFor({}, {}).controller).not.toHaveProperty('ownNodes')
  })

  it('must be names', () => {
    expect(() => nodesIn({ ownNode: 3 })).toThrow(/controller\.ownNode: found 3; expected a text or a list of texts$/)
  })

  it("come from chaos-controller's variable", () => {
    expect(readConfig({ CONTROLLER_NODE_NAME: 'node-1' }).nodeName).toBe('node-1')
    expect(readConfig({ CONTROLLER_NODE_NAME: '' }).nodeName).toBeUndefined()
  })
})
