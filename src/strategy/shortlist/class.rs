//! The nodes with weights of the same highest bit, in all orders.

use alloc::vec::Vec;

use super::order::Order;
use super::{Member, ORDERS};
use crate::NodeId;
use crate::strategy::draw;

/// A class of nodes. No node is twice as heavy as another, so one bound is close enough for all.
#[derive(Clone, Debug)]
pub(super) struct Class {
    pub(super) octave: u32,
    pub(super) heaviest: u32,
    pub(super) total: u64,
    orders: Vec<Order>,
}

impl Class {
    /// Builds a class from nodes with their seeds, in order of name.
    pub(super) fn new(octave: u32, nodes: &[(u64, Member)]) -> Self {
        let order = |order| {
            let seed = |&(seed, member): &(u64, Member)| (draw(seed, order), member);
            Order::new(nodes.iter().map(seed).collect())
        };
        let mut class = Self {
            octave,
            heaviest: 0,
            total: 0,
            orders: (0..ORDERS).map(order).collect(),
        };
        class.weigh();
        class
    }

    pub(super) fn insert(&mut self, seed: u64, member: Member) {
        for (order, index) in self.orders.iter_mut().zip(0..) {
            order.insert(draw(seed, index), member);
        }
        self.weigh();
    }

    pub(super) fn remove(&mut self, seed: u64, id: NodeId) {
        for (order, index) in self.orders.iter_mut().zip(0..) {
            order.remove(draw(seed, index), id);
        }
        self.weigh();
    }

    fn weigh(&mut self) {
        let weights = || self.orders[0].members().iter().map(|member| member.weight);
        let (heaviest, total) = (weights().max(), weights().map(u64::from).sum());
        (self.heaviest, self.total) = (heaviest.unwrap_or(0), total);
    }

    #[inline]
    pub(super) fn order(&self, index: usize) -> &Order {
        &self.orders[index]
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let orders: usize = self.orders.iter().map(Order::heap_bytes).sum();
        orders + self.orders.capacity() * size_of::<Order>()
    }
}
