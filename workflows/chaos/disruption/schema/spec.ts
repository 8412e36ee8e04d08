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
    operator: required(oneOf('What is required of it.', ['In', 'NotIn', 'Exists', 'DoesNotExist'])),
    values: list('The values, of In and NotIn.', text('A value.', { maxLength: 63 }), { maxItems: 256 }),
  },
  {
    rules: [
      {
        rule: "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",
        message: 'expected values beside In and NotIn, and none beside Exists and DoesNotExist',
        fieldPath: '.values',
      },
    ],
  },
)

const targeting = {
  count: required(
    intOrString('How many targets: a number, or a share of those that match, rounded up, such as 30%.', {
      minimum: 1,
      maxLength: 16,
      pattern: '^[+]?0*([1-9][0-9]*|(100|[1-9][0-9]?)%)$',
    }),
  ),
  selector: mapOf('Labels that targets have.', text('The value of a label.', { maxLength: 63 })),
  advancedSelector: list('Requirements on labels that targets meet as well.', requirement, { maxItems: 128 }),
  filter: record('What targets have to have beside labels.', {
    annotations: mapOf('Annotations that targets have.', text('The value of an annotation.')),
  }),
  level: oneOf('What targets are: pods of the namespace (the default), or nodes.', ['pod', 'node', '']),
  containers: list('Only these containers of the pods; default: all.', text('The name of a container.'), {
    maxItems: 256,
  }),
  staticTargeting: flag('Whether targets are chosen once; by default they follow the selector over time.'),
  allowDisruptedTargets: flag('Whether targets may be taken that another Disruption disturbs in other ways.'),
}

const trigger = (description: string) =>
  record(
    description,
    {
      notBefore: timestamp('Not before this point in time.'),
      offset: durationField('Not before this much time has gone by.'),
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
  duration: durationField("How long it lasts; default: the operators'."),
  maxRuns: integer('How many times chaos pods are made at most.', { minimum: 1 }),
  triggers: record(
    'When it begins.',
    {
      inject: trigger('When targets are disturbed; offset counts from when chaos pods are made.'),
      createPods: trigger('When chaos pods are made; offset counts from the creation of the Disruption.'),
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
    'Disturbs and pauses in turns.',
    {
      activeDuration: durationField('How long it disturbs, at least 500ms.'),
      dormantDuration: durationField('How long it pauses, at least 500ms.'),
      initialDelay: durationField('How long it waits before the first turn.'),
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
  dryRun: flag('Whether nothing is disturbed, though chaos pods run.'),
  onInit: flag('Whether pods are disturbed before their containers start.'),
  unsafeMode: record('Which safety nets are taken away.', {
    disableAll: flag('All of them.'),
    disableCountTooLarge: flag('The one against too many targets.'),
    disableNeitherHostNorPort: flag('The one against a network without hosts and Services.'),
    disableSpecificContainDisk: flag(
      'Takes nothing away: containers beside diskPressure are refused whatever it says.',
    ),
    allowRootDiskFailure: flag('The one against failures of the root disk.'),
    config: record('Changed limits of safety nets.', {
      countTooLarge: record(
        'Of the one against too many targets.',
        {
          namespaceThreshold: threshold('Percent of the pods of the namespace.'),
          clusterThreshold: threshold('Percent of the pods, or nodes, of the cluster.'),
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
  }),
}

export const reportingField = record('Who is told of it.', {
  slackChannel: text('A channel in Slack.', { maxLength: 80, pattern: '^([a-z0-9_-]*|C[A-Z0-9]+)$' }),
  slackUserEmail: text('The address of somebody in Slack.', { maxLength: 320 }),
  purpose: text('What it is for.', { minLength: 10 }),
  minNotificationType: oneOf('Only what is at least this; default Success.', [
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

/** These kinds end the target, so no other kind can be combined with them. */
export const ALONE = ['containerFailure', 'nodeFailure', 'podReplacement'] as const
/** These kinds need a pod as target. */
export const OF_PODS = ['containerFailure', 'podReplacement', 'grpc', 'dns'] as const
/** These kinds work before containers run. */
export const ON_INIT = ['network', 'dns'] as const
/** These kinds disturb a disk or the memory of the whole pod. */
export const OF_ALL_CONTAINERS = ['diskPressure', 'memoryPressure'] as const

const specFields = { ...targeting, ...timing, ...safety, reporting: reportingField, ...kinds }

const KINDS = Object.keys(kinds) as readonly (keyof typeof kinds)[]
const IS_NODE = "(has(self.level) && self.level == 'node')"
const IS_ON_INIT = '(has(self.onInit) && self.onInit)'

/** The rules of spec/chaos.md 1.4 (2 to 7, 9) that CEL can express; rules/ contains all rules. */
const specRules: readonly ValidationRule[] = [
  { rule: anyOf(KINDS), message: 'expected at least one kind, such as network' },
  ...ALONE.map((alone) =>
    notBoth(alone, anyOf(KINDS.filter((name) => name !== alone)), `expected no other kind beside ${alone}`),
  ),
  notBoth('pulse', anyOf(ALONE), `expected no pulse beside ${ALONE.join(', ')}`),
  ...OF_PODS.map((kind) => notBoth(kind, IS_NODE, `expected level pod beside ${kind}`)),
  noContainers(IS_NODE, 'level node'),
  noContainers(anyOf(OF_ALL_CONTAINERS), OF_ALL_CONTAINERS.join(', ')),
  noContainers(IS_ON_INIT, 'onInit'),
  notBoth('level', `${IS_NODE} && ${IS_ON_INIT}`, 'expected level pod beside onInit'),
  ...KINDS.filter((kind) => !ON_INIT.some((one) => one === kind)).map((kind) =>
    notBoth(kind, IS_ON_INIT, `expected beside onInit only ${ON_INIT.join(', ')}`),
  ),
]

export const specField = record(
  'What is disturbed, how, and for how long. It does not change, but for count with dynamic targeting.',
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
  'The spec of each Disruption. Its selector may be empty: that of the target resource comes in.',
  specFields,
  { rules: specRules },
)

function anyOf(fields: readonly string[]): string {
  return fields.map((name) => `has(self.${name})`).join(' || ')
}

/** The field must be absent if the condition holds. */
function notBoth(field: string, condition: string, message: string): ValidationRule {
  return { rule: `!has(self.${field}) || !(${condition})`, message, fieldPath: `.${field}` }
}

function noContainers(condition: string, what: string): ValidationRule {
  const rule = `!has(self.containers) || size(self.containers) == 0 || !(${condition})`
  return { rule, message: `expected no containers beside ${what}`, fieldPath: '.containers' }
}

export type DisruptionSpec = ValueOf<typeof specField>
export type Reporting = ValueOf<typeof reportingField>
export type LabelRequirement = ValueOf<typeof requirement>
export type Trigger = ValueOf<ReturnType<typeof trigger>>
