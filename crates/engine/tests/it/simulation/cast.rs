//! What all conversations of a simulation are made of.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use deft_engine::{
    Condenser, Conversation, Critic, Criticised, Extensions, Limits, Memory, OpenError, Outfit, Parts,
    Refinement, Safety, ServersElsewhere, SubAgents, Supervision,
};
use deft_store::{Owner, Store};
use deft_tools::Toolbox;
use deft_types::{ConfirmationPolicy, SecurityAnalyzer, SecurityRisk};

use super::additions::additions;
use super::agents::SimulatedAgents;
use super::executor::{Door, Place};
use super::log::Logs;
use super::model::SimulatedModel;
use super::ponder::{Ponder, tools};
use super::scene::{Life, Scene, SimulatedWorld};
use super::servers::SimulatedServers;
use super::store::SimulatedStore;

/// See the module.
pub(crate) struct Cast {
    pub(super) scene: Arc<Scene>,
    pub(super) logs: Arc<Logs>,
    /// Where the agents work that were given tasks, by the names of these.
    pub(super) tasks: Mutex<BTreeMap<String, Arc<Place>>>,
    gives_tasks: bool,
    window: Option<u64>,
    condenser: Condenser,
    policy: ConfirmationPolicy,
    checkpoints: bool,
    additions: Extensions,
    has_servers: bool,
    refinement: Option<Refinement>,
}

impl Cast {
    pub(crate) fn new(scene: Arc<Scene>, logs: Arc<Logs>) -> Self {
        let dice = &scene.dice;
        let condensers = [
            Condenser::default(),
            Condenser::Window,
            Condenser::RecentEvents {
                keep_first: 2,
                max_events: 12,
            },
            Condenser::Amortized {
                keep_first: 2,
                max_events: 16,
            },
        ];
        let condenser = dice.pick(&condensers).clone();
        let window = dice.one_in(2).then(|| 1_500 + dice.below(4_000) as u64);
        let policy = policies()[dice.below(4).min(2)].clone();
        let checkpoints = dice.one_in(4);
        let gives_tasks = dice.one_in(3);
        let (additions, has_hooks) = additions(dice);
        scene.hooked.store(has_hooks, Ordering::Relaxed);
        let has_servers = dice.one_in(3);
        let refinement = Refinement {
            critic: dice
                .pick(&[Critic::Model(None), Critic::Anybody, Critic::Changed])
                .clone(),
            criticised: *dice.pick(&[Criticised::Results, Criticised::AllActions]),
            ..Refinement::default()
        };
        let refinement = dice.one_in(4).then_some(refinement);
        Self {
            tasks: Mutex::default(),
            gives_tasks,
            window,
            condenser,
            policy,
            checkpoints,
            additions,
            has_servers,
            refinement,
            scene,
            logs,
        }
    }

    pub(super) fn store(&self, life: &Arc<Life>) -> SimulatedStore {
        SimulatedStore {
            scene: self.scene.clone(),
            logs: self.logs.clone(),
            life: life.clone(),
        }
    }

    pub(super) fn model(&self, life: &Arc<Life>, place: &Place, name: &str) -> Arc<SimulatedModel> {
        Arc::new(SimulatedModel {
            scene: self.scene.clone(),
            logs: self.logs.clone(),
            life: life.clone(),
            conversation: place.conversation,
            asked: place.asked.clone(),
            profile: SimulatedModel::profile(name, self.window),
        })
    }

    fn servers(&self, life: &Arc<Life>) -> Arc<dyn ServersElsewhere> {
        Arc::new(SimulatedServers {
            scene: self.scene.clone(),
            life: life.clone(),
        })
    }

    /// Opens a conversation that may give tasks, as a new process would.
    pub(super) async fn open(
        self: &Arc<Self>,
        place: &Arc<Place>,
        life: &Arc<Life>,
    ) -> Result<Conversation, OpenError> {
        let agents = SimulatedAgents {
            cast: self.clone(),
            life: life.clone(),
        };
        let agents = self.gives_tasks.then(|| Arc::new(agents) as Arc<dyn SubAgents>);
        let supervision = Supervision {
            refinement: self.refinement.clone(),
            ..Supervision::default()
        };
        self.open_with(place, life, agents, supervision).await
    }

    pub(super) async fn open_with(
        &self,
        place: &Arc<Place>,
        life: &Arc<Life>,
        agents: Option<Arc<dyn SubAgents>>,
        supervision: Supervision,
    ) -> Result<Conversation, OpenError> {
        let store = Arc::new(self.store(life));
        let lease = store.acquire(place.conversation, &Owner::this_process()).await?;
        life.fencing.set(lease.fencing()).unwrap();
        Conversation::open(Parts {
            lease,
            store,
            model: self.model(life, place, "simulated"),
            model_name: "simulated".to_owned(),
            models: None,
            agents,
            workspace: Arc::new(Door {
                place: place.clone(),
                life: life.clone(),
            }),
            directory: "/simulated".to_owned(),
            tools: tools(),
            host: Toolbox::host().with(Arc::new(Ponder(self.scene.clone()))),
            responses: BTreeMap::new(),
            world: Arc::new(SimulatedWorld {
                scene: self.scene.clone(),
                life: life.clone(),
            }),
            limits: limits(),
            safety: Safety {
                policy: self.policy.clone(),
                analyzer: Some(SecurityAnalyzer::Model),
            },
            memory: Memory {
                condenser: self.condenser.clone(),
                model: None,
            },
            outfit: Outfit {
                checkpoints: self.checkpoints,
                elsewhere: self.has_servers.then(|| self.servers(life)),
                ..Outfit::default()
            },
            extensions: self.additions.clone(),
            supervision,
            external: None,
        })
        .await
    }
}

pub(super) fn limits() -> Limits {
    Limits {
        max_steps: 100,
        parallel_calls: 4,
        stuck_detection: true,
        max_cost: None,
        max_tokens: None,
        max_time: None,
        max_agents: None,
        max_depth: None,
    }
}

pub(super) fn policies() -> [ConfirmationPolicy; 3] {
    let risky = ConfirmationPolicy::ConfirmRisky {
        threshold: SecurityRisk::High,
        confirm_unknown: true,
    };
    [
        ConfirmationPolicy::AlwaysConfirm,
        risky,
        ConfirmationPolicy::NeverConfirm,
    ]
}
