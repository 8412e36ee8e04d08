import { describe, expect, it } from 'vitest'
import { isWrittenByOthers } from '../../../activities/kube/managed-fields.ts'

const entry = (manager: string, field: string) => ({ manager, fieldsV1: { 'f:status': { [`f:${field}`]: {} } } })
const by = (...managedFields: readonly object[]) => ({ metadata: { managedFields } })

describe('a field of a status', () => {
  it.each([
    ['that another engine has written', by(entry('landscaper-controller', 'importsHash')), true],
    ['that Pawl has written', by(entry('pawl-installation', 'importsHash')), false],
    [
      'that both have',
      by(entry('landscaper-controller', 'importsHash'), entry('pawl-installation', 'importsHash')),
      false,
    ],
    ['beside which another one is somebody else’s', by(entry('kubectl', 'phase')), false],
    ['of an object of which nothing is known', { metadata: {} }, false],
  ])('%s', (_, object, isOthers) => {
    expect(isWrittenByOthers(object, 'importsHash')).toBe(isOthers)
  })
})
