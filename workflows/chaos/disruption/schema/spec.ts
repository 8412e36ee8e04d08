// Schema of a Disruption's spec, which is also the template of crons and rollouts. Wire format: spec/chaos.md 1.2.

import {
  flag,
  integer,
  intOrString,
  list,
  mapOf,
  oneOf,
  record,
  required,
  text,
  timestamp,
  type ValidationRule,
  type ValueOf,
} from '../../../kit/index.ts'
import { durationField } from '../../go-duration.ts'
import {
  diskFailureField,
  containerFailureField,
  nodeFailureField,
  podReplacementField,
  grpcField,
  cpuPressureField,
  diskPressureField,
  memoryPressureField,
} from './kinds.ts'
import { dnsField } from './dns.ts'
import { networkField } from './network.ts'

const requirement = record(
  'One requirement on labels.',
  {
    key: required(text('The key of the label.', { maxLength: 317 })),
    operator: required(oneOf('How the label is compared with the values.', ['In', 'NotIn', 'Exists', 'DoesNotExist'])),
    values: list(
      'The values for In and NotIn; empty for Exists and DoesNotExist.',
      text('A value.', { maxLength: 63 }),
      { maxItems: 256 },
    ),
  },
  {
    rules: [
      {
        rule: "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",
        message: 'expected values with In and NotIn, and no values with Exists and DoesNotExist',
        fieldPath: '.values',
      },
    ],
  },
)

const targeting = {
  count: required(
    intOrString('The number of targets, or the percentage of all matching pods or nodes, rounded up, such as 30%.', {
      minimum: 1,
      maxLength: 16,
      pattern: '^[+]?0*([1-9][0-9]*|(100|[1-9][0-9]?)%)$',
    }),
  ),
  selector: mapOf('Labels that targets have.', text('The value of a label.', { maxLength: 63 })),
  advancedSelector: list('Requirements on labels of the targets, in addition to selector.', requirement, {
    maxItems: 128,
  }),
  filter: record('Requirements on targets in addition to labels.', {
    annotations: mapOf('Annotations that targets have.', text('The value of an annotation.')),
  }),
  level: oneOf('The kind of the targets: pods of the namespace (the default), or nodes.', ['pod', 'node', '']),
  containers: list('The containers of the pods that are disturbed; default: all.', text('The name of a container.'), {
    maxItems: 256,
  }),
  staticTargeting: flag(
    'Whether targets are chosen only once; by default they change when other pods or nodes match the selector.',
  ),
  allowDisruptedTargets: flag('Whether targets may be chosen that another Disruption disturbs with other kinds.'),
}

const trigger = (description: string) =>
  record(
    description,
    {
      notBefore: timestamp('The earliest time.'),
      offset: durationField('The earliest time, as a duration.'),
    },
    {
      rules: [
        {
          rule: "!has(self.notBefore) || !has(self.offset) || (type(self.offset) == string && self.offset == '')",
          message: 'expected notBefore or offset, not both',
        },
      ],
    },
  )

const timing = {
  duration: durationField(
    'How long the Disruption lasts; default: the duration in the configuration of the controller.',
  ),
  maxRuns: integer('How many times chaos pods are created at most.', { minimum: 1 }),
  triggers: record(
    'When the Disruption begins.',
    {
      inject: trigger('When targets are disturbed; offset counts from the creation of the chaos pods.'),
      createPods: trigger('When chaos pods are created; offset counts from the creation of the Disruption.'),
    },
    {
      rules: [
        {
          rule: '!has(self.inject) || !has(self.inject.notBefore) || !has(self.createPods) || !has(self.createPods.notBefore) || self.inject.notBefore >= self.createPods.notBefore',
          message: 'expected inject.notBefore not to be before createPods.notBefore',
          fieldPath: '.inject.notBefore',
        },
      ],
    },
  ),
  pulse: record(
    'Disturbs the targets and pauses, alternately.',
    {
      activeDuration: durationField('How long the targets are disturbed each time, at least 500ms.'),
      dormantDuration: durationField('How long each pause lasts, at least 500ms.'),
      initialDelay: durationField('The delay before the targets are disturbed for the first time.'),
    },
    {
      rules: [
        {
          rule: 'has(self.activeDuration) == has(self.dormantDuration)',
          message: 'expected activeDuration and dormantDuration, or neither',
        },
        ...['activeDuration', 'dormantDuration'].map((name) => ({
          rule: `!has(self.${name}) || (type(self.${name}) == int ? self.${name} >= 500000000 : self.${name} == '' || duration(self.${name}) >= duration('500ms'))`,
          message: `expected ${name} to be at least 500ms`,
          fieldPath: `.${name}` as const,
        })),
      ],
    },
  ),
}

const threshold = (description: string) => integer(description, { minimum: 1, maximum: 100 })

const safety = {
  dryRun: flag('Whether chaos pods run without disturbing the targets.'),
  onInit: flag('Whether pods are disturbed before their containers start.'),
  unsafeMode: record(
    'Safety nets to disable. A safety net rejects a Disruption that would probably do more damage than intended.',
    {
      disableAll: flag('Disables all safety nets.'),
      disableCountTooLarge: flag('Disables the safety net against too many targets.'),
      disableNeitherHostNorPort: flag(
        'Disables the safety net against a network disruption without hosts and Services.',
      ),
      disableSpecificContainDisk: flag('Has no effect: containers are always rejected with diskPressure.'),
      allowRootDiskFailure: flag('Disables the safety net against failures of the root disk.'),
      config: record('Limits of safety nets.', {
        countTooLarge: record(
          'Limits of the safety net against too many targets.',
          {
            namespaceThreshold: threshold('The percentage of the pods of the namespace.'),
            clusterThreshold: threshold('The percentage of the pods, or nodes, of the cluster.'),
          },
          {
            rules: [
              {
                rule: 'has(self.namespaceThreshold) || has(self.clusterThreshold)',
                message: 'expected namespaceThreshold or clusterThreshold',
              },
            ],
          },
        ),
      }),
    },
  ),
}

export const reportingField = record('The receivers of notifications about the Disruption.', {
  slackChannel: text('The Slack channel to notify.', { maxLength: 80, pattern: '^([a-z0-9_-]*|C[A-Z0-9]+)$' }),
  slackUserEmail: text('The email address of the Slack user to notify.', { maxLength: 320 }),
  purpose: text('The purpose of the Disruption.', { minLength: 10 }),
  minNotificationType: oneOf('The lowest level of notifications to send; default: Success.', [
    ...(['Info', 'Success', 'Completion', 'Warning', 'Error', ''] as const),
  ]),
})

const kinds = {
  network: networkField,
  nodeFailure: nodeFailureField,
  containerFailure: containerFailureField,
  cpuPressure: cpuPressureField,
  memoryPressure: memoryPressureField,
  diskPressure: diskPressureField,
  diskFailure: diskFailureField,
  grpc: grpcField,
  dns: dnsField,
  podReplacement: podReplacementField,
}

/** These kinds end the target, so a Disruption has no other kind besides one of them. */
export const EXCLUSIVE_KINDS = ['containerFailure', 'nodeFailure', 'podReplacement'] as const
/** These kinds need a pod as target. */
export const POD_KINDS = ['containerFailure', 'podReplacement', 'grpc', 'dns'] as const
/** These kinds may be combined with `onInit`, because they work before the containers start. */
export const ON_INIT_KINDS = ['network', 'dns'] as const
/** These kinds disturb a disk or the memory of the whole pod, so `containers` must be empty. */
export const WHOLE_POD_KINDS = ['diskPressure', 'memoryPressure'] as const

const specFields = { ...targeting, ...timing, ...safety, reporting: reportingField, ...kinds }

const KINDS = Object.keys(kinds) as readonly (keyof typeof kinds)[]
const IS_NODE = "(has(self.level) && self.level == 'node')"
const IS_ON_INIT = '(has(self.onInit) && self.onInit)'

/** The rules of spec/chaos.md 1.4 (2 to 7, 9) that CEL can express; rules/ contains all rules. */
const specRules: readonly ValidationRule[] = [
  { rule: anyOf(KINDS), message: 'expected at least one kind, such as network' },
  ...EXCLUSIVE_KINDS.map((alone) =>
    absentIf(alone, anyOf(KINDS.filter((name) => name !== alone)), `expected no other kind with ${alone}`),
  ),
  absentIf('pulse', anyOf(EXCLUSIVE_KINDS), `expected no pulse with ${EXCLUSIVE_KINDS.join(', ')}`),
  ...POD_KINDS.map((kind) => absentIf(kind, IS_NODE, `expected level pod with ${kind}`)),
  noContainers(IS_NODE, 'level node'),
  noContainers(anyOf(WHOLE_POD_KINDS), WHOLE_POD_KINDS.join(', ')),
  noContainers(IS_ON_INIT, 'onInit'),
  absentIf('level', `${IS_NODE} && ${IS_ON_INIT}`, 'expected level pod with onInit'),
  ...KINDS.filter((kind) => !ON_INIT_KINDS.some((one) => one === kind)).map((kind) =>
    absentIf(kind, IS_ON_INIT, `expected only ${ON_INIT_KINDS.join(', ')} with onInit`),
  ),
]

export const specField = record(
  'The targets, the kinds of disruption and the duration. Immutable, except for count with dynamic targeting.',
  specFields,
  {
    rules: [
      {
        rule: '(has(self.selector) && size(self.selector) > 0) || (has(self.advancedSelector) && size(self.advancedSelector) > 0)',
        message: 'expected labels of the targets in selector or advancedSelector',
      },
      ...specRules,
    ],
  },
)

export const templateField = record(
  'The spec of each Disruption. The selector may be empty: the selector of the target resource is added to it.',
  specFields,
  { rules: specRules },
)

function anyOf(fields: readonly string[]): string {
  return fields.map((name) => `has(self.${name})`).join(' || ')
}

/** The field must be absent if the CEL condition holds. */
function absentIf(field: string, condition: string, message: string): ValidationRule {
  return { rule: `!has(self.${field}) || !(${condition})`, message, fieldPath: `.${field}` }
}

/** `containers` must be empty if the CEL condition holds. @param what names the condition in the message. */
function noContainers(condition: string, what: string): ValidationRule {
  const rule = `!has(self.containers) || size(self.containers) == 0 || !(${condition})`
  return { rule, message: `expected no containers with ${what}`, fieldPath: '.containers' }
}

export type DisruptionSpec = ValueOf<typeof specField>
export type Reporting = ValueOf<typeof reportingField>
export type LabelRequirement = ValueOf<typeof requirement>
export type Trigger = ValueOf<ReturnType<typeof trigger>>
