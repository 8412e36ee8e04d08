// The admission webhook for pods with the label `disrupt-on-init`. Source: spec/chaos.md 2.10 "Pod mutation".

import { type Admission, anyMap } from '../../kit/index.ts'
import { DISRUPT_ON_INIT_LABEL } from '../contract.ts'
import { HANDLER_MUTATION } from './rules/handler-container.ts'

export const onInitAdmission: Admission = {
  kind: {
    group: '',
    version: 'v1',
    apiVersion: 'v1',
    kind: 'Pod',
    plural: 'pods',
    description: 'A pod.',
    schema: { spec: anyMap('Of the pod.') },
  },
  operations: ['CREATE'],
  labelled: DISRUPT_ON_INIT_LABEL,
  onlyMutates: true,
  validate: () => [],
  asyncRules: () => import('../../../activities/chaos/further-rules.ts'),
  // If the mutation fails, the pod starts without a disruption.
  mutations: [{ name: HANDLER_MUTATION, filter: { spec: true }, whenUnavailable: 'pass' }],
}
