// What an Execution has collected of its items' exports goes when none has any more: against an API server that the test drives, and a real journal.
// Source: spec/landscaper.md 2.7 "Completing".

import { beforeEach, describe, expect, inject, it } from 'vitest'

import { exportActivities } from '../../activities/landscaper/execution/exports.ts'
import { ownerReference } from '../../activities/kube/owners.ts'
import { dataObjectName, executionContext } from '../../activities/landscaper/render/names.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { dataObjectKind } from '../../workflows/landscaper/data-object/kind.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { execution, PATH, useExecutionStage, WRITER } from './execution-stage.ts'

const stage = useExecutionStage(inject('servers').databaseUrl)
const SUBJECT = { kind: 'Execution', uid: 'uid-exec', namespace: 'n', name: 'exec' }
const NAME = dataObjectName(executionContext('exec'), '')
const COLLECTED = `/apis/${dataObjectKind.apiVersion}/namespaces/n/dataobjects/${NAME}`

const collect = async () => {
  const input = { by: WRITER, subject: SUBJECT, jobID: 'job', items: [] }
  return await exportActivities(stage.deps).collectExports(input)
}

function collected(ownerUid: string): KubeObject {
  const ownerReferences = [ownerReference(executionKind, { ...SUBJECT, uid: ownerUid })]
  const metadata = { name: NAME, namespace: 'n', uid: 'uid-exports', ownerReferences }
  return { apiVersion: dataObjectKind.apiVersion, kind: 'DataObject', metadata, data: { a: { port: 1 } } }
}

describe('an execution whose items export nothing any more', () => {
  beforeEach(() => void stage.api.put(PATH, execution()))

  it('deletes what it had collected, in one write, names nothing, and finds it gone in a repeated try', async () => {
    stage.api.put(COLLECTED, collected('uid-exec'))
    expect(await collect()).toBeNull()
    expect(stage.api.objects.has(COLLECTED)).toBe(false)
    expect(await collect()).toBeNull()
    const read = `GET dataobjects/${NAME}`
    expect(stage.api.requests).toEqual([read, `DELETE dataobjects/${NAME}`, read])
  })

  it('leaves alone what belongs to another of its name', async () => {
    stage.api.put(COLLECTED, collected('uid-of-a-former-one'))
    expect(await collect()).toBeNull()
    expect(stage.api.objects.has(COLLECTED)).toBe(true)
  })
})
